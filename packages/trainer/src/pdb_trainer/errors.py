"""What can go wrong in training; every message is a sentence that says what to do next."""


class TrainerError(Exception):
    """Any failure of this package that its user can do something about."""


class ConfigError(TrainerError):
    """A setting is unknown or does not go with another."""


class RendererError(TrainerError):
    """A chat template cannot be rendered token-exactly; the message shows the differing text."""


class SamplerError(TrainerError):
    """The sampler refused a request, or broke its contract (fewer log-probs than tokens, another model)."""


class SamplerUnavailableError(SamplerError):
    """The sampler is out of reach or died: infrastructure, to be tried again."""


class ServerModelError(SamplerError):
    """The server cannot serve what it is asked for: another base model, a rank above its limit."""


class CorpusError(TrainerError):
    """A corpus cannot be built or read; the message names the file and the line, or the task."""


class LeakageError(CorpusError):
    """A task of the validation or test split was about to enter training; the message names it."""


class ProbeError(TrainerError):
    """A reinforcement learning run would find too little to learn from; the message says what to change."""


class RolloutError(TrainerError):
    """Stored rollouts cannot be read, or do not fit each other."""


class RewardError(TrainerError):
    """An episode says nothing of the policy, so that it has no reward: it is run again."""


class CheckpointError(TrainerError):
    """A checkpoint cannot be written or read; the one before is whole."""


class LearnerError(TrainerError):
    """The learner cannot go on: too many updates that were not finite, for instance."""
