"""Plain Python: sums of exponentials relative to the largest; classes by a search with `next`."""

import math


def _log_of_sum(values):
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


class SemanticClassesCalculator:
    def get_classes(self, hyps_list):
        self._sample_to_class, self._class_to_sample = {}, {}
        for question, texts in enumerate(hyps_list):
            for sample, _ in enumerate(texts):
                self._determine_class(question, sample)
        return self._sample_to_class, self._class_to_sample

    def _determine_class(self, idx, i):
        if not i:
            self._sample_to_class[idx], self._class_to_sample[idx] = {}, []
        members = self._class_to_sample[idx]
        says = self._is_entailment[idx]
        fitting = (number for number, row in enumerate(members) if says[row[0], i] and says[i, row[0]])
        number = next(fitting, len(members))
        if number == len(members):
            members.append([])
        members[number].append(i)
        self._sample_to_class[idx][i] = number
        return number


class SemanticEntropy:
    def get_unique_hypos_by_class(self, batch_i, hyps_list):
        result = []
        for row in self._class_to_sample[batch_i]:
            first = {}
            for place, sample in enumerate(row):
                first.setdefault(hyps_list[batch_i][sample], place)
            result.append(np.array(list(first.values()), dtype=np.int64))
        return result

    def batched_call(self, hyps_list, loglikelihoods_list, log_weights=None):
        result = []
        for question, texts in enumerate(hyps_list):
            rows = self._class_to_sample[question]
            if self.class_probability_estimation == "frequency":
                logs = [math.log(len(row)) - math.log(len(texts)) for row in rows]
            else:
                places = [range(len(row)) for row in rows]
                if self.use_unique_responses:
                    places = self.get_unique_hypos_by_class(question, hyps_list)
                own = loglikelihoods_list[question]
                logs = [_log_of_sum([float(own[row[int(place)]]) for place in of]) for row, of in zip(rows, places)]
            by_sample = [logs[self._sample_to_class[question][sample]] for sample in range(len(texts))]
            if self.entropy_estimation == "mean":
                weights = [0.0] * len(texts) if log_weights is None else log_weights[question]
                terms = [-value * math.exp(weight) / len(texts) for value, weight in zip(by_sample, weights)]
            elif self.entropy_estimation == "direct":
                terms = [-value * math.exp(value) for value in by_sample]
            else:
                raise ValueError(self.entropy_estimation)
            result.append(math.fsum(terms))
        return np.array(result, dtype=np.float64)
