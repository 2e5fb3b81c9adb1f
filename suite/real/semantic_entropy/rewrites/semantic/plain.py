"""The shortest code for the four methods."""


class SemanticClassesCalculator:
    def get_classes(self, hyps_list):
        self._sample_to_class, self._class_to_sample = {}, {}
        for idx, samples in enumerate(hyps_list):
            for i in range(len(samples)):
                self._determine_class(idx, i)
        return self._sample_to_class, self._class_to_sample

    def _determine_class(self, idx, i):
        samples, classes = self._sample_to_class.setdefault(idx, {}), self._class_to_sample.setdefault(idx, [])
        says = self._is_entailment[idx]
        number = 0
        while number < len(classes) and not (says[classes[number][0], i] and says[i, classes[number][0]]):
            number += 1
        if number == len(classes):
            classes.append([])
        classes[number].append(i)
        samples[i] = number
        return number


class SemanticEntropy:
    def get_unique_hypos_by_class(self, batch_i, hyps_list):
        texts = np.array(hyps_list[batch_i])
        return [np.unique(texts[members], return_index=True)[1] for members in self._class_to_sample[batch_i]]

    def batched_call(self, hyps_list, loglikelihoods_list, log_weights=None):
        result = []
        for i, texts in enumerate(hyps_list):
            classes = self._class_to_sample[i]
            if self.class_probability_estimation == "frequency":
                logs = [np.log(len(members) / len(texts)) for members in classes]
            else:
                groups = [np.array(loglikelihoods_list[i])[members] for members in classes]
                if self.use_unique_responses:
                    kept = self.get_unique_hypos_by_class(i, hyps_list)
                    groups = [group[places] for group, places in zip(groups, kept)]
                logs = [np.logaddexp.reduce(group) for group in groups]
            if self.entropy_estimation == "direct":
                result.append(-np.sum(np.exp(logs) * logs))
            else:
                weights = 1 if log_weights is None else np.exp(log_weights[i])
                result.append(-np.mean(weights * [logs[self._sample_to_class[i][j]] for j in range(len(texts))]))
        return np.array(result)
