"""A table of membership for each question, whose rows are classes; leaders are found in one pass."""


class SemanticClassesCalculator:
    def get_classes(self, hyps_list):
        self._sample_to_class, self._class_to_sample = {}, {}
        for question, texts in enumerate(hyps_list):
            says = self._is_entailment[question]
            both = says & says.T
            leaders, rows, of = [], [], {}
            for sample in range(len(texts)):
                number = next((place for place, leader in enumerate(leaders) if both[leader, sample]), len(leaders))
                if number == len(leaders):
                    leaders.append(sample)
                    rows.append([])
                rows[number].append(sample)
                of[sample] = number
            self._sample_to_class[question], self._class_to_sample[question] = of, rows
        return self._sample_to_class, self._class_to_sample

    def _determine_class(self, idx, i):
        if i == 0:
            self._class_to_sample[idx] = []
            self._sample_to_class[idx] = {}
        rows = self._class_to_sample[idx]
        number = 0
        while number < len(rows):
            pair = [rows[number][0], i]
            if self._is_entailment[idx][pair, pair[::-1]].all():
                break
            number += 1
        else:
            rows.append([])
        rows[number].append(i)
        self._sample_to_class[idx][i] = number
        return number


class SemanticEntropy:
    def get_unique_hypos_by_class(self, batch_i, hyps_list):
        result = []
        for row in self._class_to_sample[batch_i]:
            seen, places = set(), []
            for place, sample in enumerate(row):
                if hyps_list[batch_i][sample] not in seen:
                    places.append(place)
                seen.add(hyps_list[batch_i][sample])
            result.append(np.array(places))
        return result

    def batched_call(self, hyps_list, loglikelihoods_list, log_weights=None):
        if self.entropy_estimation not in ("mean", "direct") and len(hyps_list):
            raise ValueError("entropy_estimation")
        result = []
        for question, texts in enumerate(hyps_list):
            rows = self._class_to_sample[question]
            table = np.zeros((len(rows), len(texts)))
            for number, row in enumerate(rows):
                table[number, row] = 1
            if self.class_probability_estimation == "frequency":
                logs = np.log(table.mean(axis=1))
            else:
                kept = table
                if self.use_unique_responses:
                    kept = np.zeros_like(table)
                    for number, places in enumerate(self.get_unique_hypos_by_class(question, hyps_list)):
                        kept[number, np.array(rows[number])[places]] = 1
                values = np.where(kept > 0, np.asarray(loglikelihoods_list[question], dtype=float), -np.inf)
                top = values.max(axis=1)
                logs = top + np.log(np.exp(values - top[:, None]).sum(axis=1))
            if self.entropy_estimation == "mean":
                weights = np.ones(len(texts))
                if log_weights is not None:
                    weights = np.exp(np.asarray(log_weights[question], dtype=float))
                result.append(-(logs @ table @ weights) / len(texts))
            else:
                result.append(-(logs * np.exp(logs)) @ table.sum(axis=1))
        return np.array(result, dtype=np.float64)
