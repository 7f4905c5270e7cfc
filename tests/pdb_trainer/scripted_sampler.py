"""A sampler that draws what is written down (meets ``pdb_trainer.sampler.Sampler``)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pdb_trainer.errors import SamplerError
from pdb_trainer.renderers.template_renderer import TemplateRenderer
from pdb_trainer.sampler import Sampled, SampleRequest


@dataclass(kw_only=True)
class ScriptedSampler:
    """The reply after as many as the prompt holds, counting where the model was let speak."""

    renderer: TemplateRenderer
    replies: Sequence[str]
    """One that does not end with the end of a turn is cut."""
    context_tokens: int = 60_000
    version: str = "policy-v3"
    failures: list[SamplerError] = field(default_factory=list[SamplerError])
    """Raised first, one for each request."""
    asked: list[SampleRequest] = field(default_factory=list[SampleRequest])

    async def sample(self, request: SampleRequest) -> Sampled:
        self.asked.append(request)
        if self.failures:
            raise self.failures.pop(0)
        said = self.replies[self._turns(request.prompt) - 1]
        ids = tuple(self.renderer.tokenizer.encode_template(said))[: request.max_tokens]
        return Sampled(
            token_ids=ids,
            logprobs=tuple(-0.01 * (place % 9) for place in range(len(ids))),
            finish="stop" if ids[-1] in self.renderer.stop_ids else "length",
            version=self.version,
            request_id=f"r{len(self.asked)}",
            cached_tokens=5,
            seconds=0.25,
        )

    def _turns(self, prompt: tuple[int, ...]) -> int:
        """By ids: text that looks like the beginning of a turn is none."""
        begin = tuple(self.renderer.tokenizer.encode_template("<|im_start|>assistant\n"))
        return sum(prompt[at : at + len(begin)] == begin for at in range(len(prompt)))

    async def aclose(self) -> None:
        pass
