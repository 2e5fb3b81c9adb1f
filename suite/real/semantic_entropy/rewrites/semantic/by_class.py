"""Goes over classes and multiplies by how many samples or how much weight each has; clusters by leaders of classes."""


def _measure(name):
    if name not in ("mean", "direct"):
        raise ValueError(f"no estimate {name}")
    return name == "mean"


class SemanticClassesCalculator:
    def get_classes(self, hyps_list):
        self._sample_to_class = {question: {} for question in range(len(hyps_list))}
        self._class_to_sample = {question: [] for question in range(len(hyps_list))}
        for question in range(len(hyps_list)):
            for sample in range(len(hyps_list[question])):
                self._determine_class(question, sample)
        return self._sample_to_class, self._class_to_sample

    def _determine_class(self, idx, i):
        if i == 0:
            self._sample_to_class[idx] = {0: 0}
            self._class_to_sample[idx] = [[0]]
            return 0
        leaders = np.array([row[0] for row in self._class_to_sample[idx]])
        both = np.flatnonzero(self._is_entailment[idx, leaders, i] & self._is_entailment[idx, i, leaders])
        number = int(both[0]) if both.size else len(leaders)
        if both.size:
            self._class_to_sample[idx][number].append(i)
        else:
            self._class_to_sample[idx] += [[i]]
        self._sample_to_class[idx][i] = number
        return number


class SemanticEntropy:
    def get_unique_hypos_by_class(self, batch_i, hyps_list):
        texts = hyps_list[batch_i]
        found = []
        for row in self._class_to_sample[batch_i]:
            words = [texts[sample] for sample in row]
            found.append(np.array([place for place, word in enumerate(words) if words.index(word) == place]))
        return found

    def batched_call(self, hyps_list, loglikelihoods_list, log_weights=None):
        result = np.empty(len(hyps_list))
        for question in range(len(hyps_list)):
            total = 0.0
            count = len(hyps_list[question])
            rows = self._class_to_sample[question]
            kept = None
            if self.class_probability_estimation == "sum" and self.use_unique_responses:
                kept = self.get_unique_hypos_by_class(question, hyps_list)
            for number, row in enumerate(rows):
                if self.class_probability_estimation == "sum":
                    values = np.array(loglikelihoods_list[question], dtype=float)[row]
                    values = values if kept is None else values[kept[number]]
                    log = values.max() + np.log(np.exp(values - values.max()).sum())
                else:
                    log = np.log(len(row) / count)
                if _measure(self.entropy_estimation):
                    held = len(row) if log_weights is None else np.exp(np.asarray(log_weights[question])[row]).sum()
                    total -= log * held / count
                else:
                    total -= len(row) * log * np.exp(log)
            result[question] = total
        return result
