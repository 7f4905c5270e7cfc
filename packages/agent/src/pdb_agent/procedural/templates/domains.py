"""What a generated program is about: nouns, and names of the things in it."""

from dataclasses import dataclass

from pdb_agent.procedural.draw import Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The nouns of one trade, all of them lower case."""

    package: str
    thing: str
    things: str
    place: str
    places: str
    owner: str
    owners: str
    labels: tuple[str, ...]
    """Kinds of thing."""
    sites: tuple[str, ...]
    """Names of places."""

    def words(self) -> dict[str, str]:
        """The nouns by their names; with a capital where the name has one."""
        nouns = {name: getattr(self, name) for name in ("thing", "place", "owner")}
        plurals = {name: getattr(self, name) for name in ("things", "places", "owners")}
        capitals = {name.capitalize(): noun.capitalize() for name, noun in nouns.items()}
        return {"package": self.package} | nouns | plurals | capitals


_SITES = (
    ("north", "south", "east", "west", "middle", "outer"),
    ("upper", "lower", "front", "rear", "corner", "annexe"),
    ("mill", "quay", "hill", "brook", "chapel", "station"),
    ("first", "second", "third", "fourth", "fifth", "sixth"),
)
# Package, thing, things, place, places, owner, owners, kinds of thing.
_TRADES = (
    "orchard crate crates shed sheds grower growers pear plum quince apple cherry fig",
    "harbour parcel parcels berth berths captain captains rope salt tea wool tin oak",
    "library volume volumes shelf shelves reader readers atlas ballad diary essay fable novel",
    "bakery loaf loaves oven ovens baker bakers rye spelt bun roll brioche bagel",
    "museum exhibit exhibits hall halls curator curators vase coin mask lamp shield flute",
    "theatre costume costumes wardrobe wardrobes actor actors cape crown boots gown sash wig",
    "smithy tool tools bench benches smith smiths saw plane rasp vise drill anvil",
    "apiary jar jars hive hives keeper keepers clover heather acacia linden thyme sage",
    "nursery seedling seedlings bed beds gardener gardeners fern tulip aster lupin poppy crocus",
    "brewery cask casks cellar cellars brewer brewers porter stout pilsner bitter mild saison",
    "pottery bowl bowls kiln kilns potter potters jug plate mug dish tile pitcher",
    "railway wagon wagons siding sidings driver drivers coal grain timber slate gravel milk",
)


def draw_domain(draw: Draw) -> Domain:
    """A trade, with its labels and sites in drawn order."""
    package, thing, things, place, places, owner, owners, *labels = draw.pick(_TRADES).split()
    return Domain(
        package=package,
        thing=thing,
        things=things,
        place=place,
        places=places,
        owner=owner,
        owners=owners,
        labels=tuple(draw.several(labels, len(labels))),
        sites=tuple(draw.several(draw.pick(_SITES), 6)),
    )
