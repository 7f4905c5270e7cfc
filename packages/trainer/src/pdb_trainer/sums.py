"""Scalars that are added up over microbatches and ranks."""

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A record whose fields are all scalar tensors without gradient, each a sum."""

    def plus(self, other: Self) -> Self:
        """Field by field."""
        return self.unstacked(self.stacked() + other.stacked())

    def stacked(self) -> Tensor:
        """All fields as one float64 vector, to be reduced over ranks."""
        return torch.stack([getattr(self, each.name).double() for each in fields(self)])

    @classmethod
    def unstacked(cls, vector: Tensor) -> Self:
        """Undoes ``stacked``."""
        return cls(**dict(zip((each.name for each in fields(cls)), vector.unbind(), strict=True)))

    @classmethod
    def zero(cls, device: torch.device) -> Self:
        """The sum over nothing."""
        return cls.unstacked(torch.zeros(len(fields(cls)), dtype=torch.float64, device=device))
