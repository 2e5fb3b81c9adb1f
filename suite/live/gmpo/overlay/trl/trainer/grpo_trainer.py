"""A stand-in for the trainer of GRPO: settings, log probabilities and metrics, in one process."""

from collections import defaultdict

import torch


class Accelerator:
    """The only process of a run: what is gathered or summed over processes stays as it is."""

    device = torch.device("cpu")

    def gather(self, tensor):
        """Concatenate a tensor of all processes."""
        return tensor

    def reduce(self, tensor, reduction="sum"):
        """Sum a tensor over all processes, or take the mean."""
        if reduction not in ("sum", "mean"):
            raise ValueError(f"unknown reduction {reduction!r}; use 'sum' or 'mean'")
        return tensor


class GRPOTrainer:
    """A trainer, of which only the loss is used here.

    `_compute_loss(model, inputs)` is called with a dictionary of

    - `prompt_ids`, `prompt_mask` (B, P): prompts, padded on the left; the mask is 1 for tokens and 0 for padding;
    - `completion_ids`, `completion_mask` (B, T): completions, padded on the right, and their mask;
    - `advantages` (B,): one advantage for each completion;
    - optional: `tool_mask` (B, T), which is 0 for tokens of a completion that a tool wrote. They do not count;
    - optional: `old_per_token_logps` (B, T), log probabilities of the policy that wrote the completions;
    - `ref_per_token_logps` (B, T), those of the reference policy, if `beta` is not 0;
    - optional model inputs, see `_get_per_token_logps_and_entropies`.

    Tokens *count* if `completion_mask` is 1 and `tool_mask`, if given, is 1, too.

    `_metrics["train"]` holds lists of numbers of steps in training, `_metrics["eval"]` those of other steps. The mode
    is that of `self.model`. Each call of `_compute_loss` appends one number to each list:

    - `kl`: the mean of the KL estimate over all tokens of the batch that count, if `beta` is not 0;
    - `entropy`: the mean of the entropy over these tokens;
    - `clip_ratio/low_mean`: the share of these tokens whose log ratio is below the lower bound of the clipping range,
      and whose advantage is negative;
    - `clip_ratio/high_mean`: the share of these tokens whose log ratio is above the upper bound, and whose advantage is
      positive;
    - `clip_ratio/region_mean`: the share of these tokens for which one of both holds;
    - `clip_ratio/low_min`: the share of the first kind within each completion, and of these shares the smallest;
    - `clip_ratio/high_max`: the share of the second kind within each completion, and of these shares the largest.
    """

    def __init__(self, model, reward_funcs, args=None, **kwargs):
        self.model, self.reward_funcs, self.args = model, reward_funcs, args
        self.beta = args.beta
        self.epsilon_low = args.epsilon
        self.epsilon_high = args.epsilon if args.epsilon_high is None else args.epsilon_high
        self.top_entropy_quantile = args.top_entropy_quantile
        self.current_gradient_accumulation_steps = args.gradient_accumulation_steps
        self.accelerator = Accelerator()
        self._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}

    def get_high_entropy_mask(self, entropies, mask, threshold):
        """Return which tokens that count have at least the entropy of the given quantile of them: booleans (B, T)."""
        counted = mask.bool()
        if not counted.any():
            return counted
        return counted & (entropies >= torch.quantile(entropies[counted], threshold))

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, compute_entropy=False, **model_inputs
    ):
        """Return log probabilities (B, T) of the last `logits_to_keep` tokens, entropies (B, T) without gradients, or
        None unless `compute_entropy`, and None for the auxiliary loss of experts.

        `model_inputs` are passed to the model unless they are None: those of multimodal models are `pixel_values`,
        `image_grid_thw`, `num_images`, `pixel_attention_mask`, `image_sizes`, `token_type_ids`, `mm_token_type_ids` and
        `image_position_ids`.
        """
        given = {name: value for name, value in model_inputs.items() if value is not None}
        logits = model(input_ids=input_ids, attention_mask=attention_mask, **given)
        logps = logits[:, -logits_to_keep - 1 : -1].log_softmax(-1)
        entropies = -(logps.exp() * logps).sum(-1).detach() if compute_entropy else None
        return logps.gather(-1, input_ids[:, -logits_to_keep:, None]).squeeze(-1), entropies, None
