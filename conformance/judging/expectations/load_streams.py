"""Expect load streams, and single reports on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent, TimeIndependent
from conformance.judging.observations import LoadReport, LoadReports, Loads, Observation
from conformance.spec.oracles.load import LoadKey


class FirstRequestHasNode(TimeIndependent, frozen=True, tag="begins_with_node", kw_only=True):
    """The first request of each load stream says which node it is.

    Clauses: A27-LRS-01, A27-LRS-22.
    """

    node: str
    load: bool | None = None
    """True if the first request must contain load, False if it must not; None accepts both."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh the first request of each stream."""
        first: dict[int, LoadReport] = {}
        for report in _reports(seen):
            first.setdefault(report.stream, report)
        told = [_beginning(request) for request in first.values()]
        holds = bool(first) and all(
            request.node == self.node and self.load in {None, bool(request.clusters)}
            for request in first.values()
        )
        load = "" if self.load is None else f", {'and' if self.load else 'without'} load"
        wanted = f"each load stream begins with the node {self.node}{load}"
        return Finding(holds, wanted, "; ".join(dict.fromkeys(told)) or "no load stream")


class LoadStreamsStarted(TimeDependent, frozen=True, tag="begins_load_streams"):
    """The client started `count` load streams.

    Clauses: A27-LRS-12, A27-LRS-17, A27-LRS-19, A27-LRS-24.
    """

    count: int

    def finding(self, seen: Observation) -> Finding:
        """Weigh the number of streams."""
        begun = _load_reports(seen).streams
        return Finding(begun == self.count, f"{self.count} load streams", f"{begun} load streams")


class LoadStreamsKept(TimeDependent, frozen=True, tag="leaves_load_streams"):
    """The client has not ended `count` of the load streams that it started.

    Clauses: A27-LRS-29.
    """

    count: int

    def finding(self, seen: Observation) -> Finding:
        """Weigh the numbers of streams that were begun and ended."""
        reports = _load_reports(seen)
        saw = f"{reports.streams} were begun, {reports.ended} ended by the client"
        return Finding(
            reports.streams - reports.ended == self.count,
            f"{self.count} load streams that were begun and not ended by the client",
            saw,
        )


class ReportIntervals(TimeDependent, frozen=True, tag="sends_reports", kw_only=True):
    """The number of reports is within bounds, and all name exactly `clusters`, if it is set.

    Clauses: A27-LRS-28.
    """

    least: int = 0
    most: int | None = None
    clusters: tuple[str, ...] | None = None

    def finding(self, seen: Observation) -> Finding:
        """Weigh the number of reports, and what each names."""
        named = [{of.cluster for of in report.clusters} for report in _reports(seen)]
        many = f"{self.least} or more" if self.most is None else f"at most {self.most}"
        of = "" if self.clusters is None else f", each of {_listed(self.clusters)}"
        told = "; ".join(dict.fromkeys(map(_listed, named))) or "nothing"
        return Finding(
            self.least <= len(named)
            and (self.most is None or len(named) <= self.most)
            and (self.clusters is None or all(names == {*self.clusters} for names in named)),
            f"{many} reports{of}",
            f"{len(named)} reports, of {told}",
        )


class OnlyTheseReported(TimeDependent, frozen=True, tag="names_only"):
    """The reports name these clusters, each at least once, and no others.

    Clauses: A27-LRS-05, A27-LRS-14, A27-LRS-16, A27-LRS-23.
    """

    clusters: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh the names in reports."""
        named = {of.cluster for report in _reports(seen) for of in report.clusters}
        return Finding(
            named == {*self.clusters},
            f"reports of {_listed(self.clusters)}",
            f"reports of {_listed(named)}",
        )


class RequestsInProgress(TimeIndependent, frozen=True, tag="each_holds", kw_only=True):
    """Each report contains exactly these requests in progress for a cluster.

    Clauses: A27-LRS-09.
    """

    cluster: str
    in_progress: tuple[tuple[LoadKey, int], ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh each report."""
        reports = _reports(seen)
        wanted = dict(self.in_progress)
        others = [_gauges(told) for report in reports if (told := self._of(report)) != wanted]
        saw = "; then ".join(dict.fromkeys(others)) or f"{len(reports)} such reports"
        saw = saw if reports else "no report, so nothing in progress"
        return Finding(bool(reports) and not others, f"in each report {_gauges(wanted)}", saw)

    def _of(self, report: LoadReport) -> dict[LoadKey, int]:
        rows = (of for of in report.clusters if of.cluster == self.cluster)
        loads = (load for of in rows for load in of.loads)
        return {load.place: load.load.in_progress for load in loads if load.load.in_progress}


class NoEndpointLoad(TimeIndependent, frozen=True, tag="tells_no_endpoints"):
    """Reports tell load by locality alone.

    Clauses: A27-LRS-18.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh each report."""
        rows = [of for report in _reports(seen) for of in report.clusters]
        endpoints = sum(of.endpoints for of in rows)
        saw = f"{len(rows)} reports of clusters, with {endpoints} endpoints"
        return Finding(bool(rows) and not endpoints, "reports of localities alone", saw)


class RequestsReported(TimeDependent, frozen=True, tag="tells_issued"):
    """The requests of each cluster, summed over all reports, are within bounds.

    Clauses: A27-LRS-06, A27-LRS-13, A27-LRS-20.
    """

    bounds: dict[str, tuple[int, int]]
    """The least and the most, by cluster."""
    counted: Literal["issued", "finished"] = "issued"
    """Which requests are counted. No report of grpc-go before 1.66 has issued ones."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh loads."""
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        counts, is_issued = dict.fromkeys(self.bounds, 0), self.counted == "issued"
        for report in seen.reported:
            load, name = report.load, report.place.cluster
            if name in counts:
                counts[name] += load.issued if is_issued else load.succeeded + load.errors
        holds = all(least <= counts[name] <= most for name, (least, most) in self.bounds.items())
        wanted = ", ".join(
            f"{least if least == most else f'{least} to {most}'} requests to {name}"
            for name, (least, most) in self.bounds.items()
        )
        saw = ", ".join(f"{count} to {name}" for name, count in counts.items())
        return Finding(holds, f"reports of {wanted} {self.counted}", f"{saw} {self.counted}")


def _load_reports(seen: Observation) -> LoadReports:
    if not isinstance(seen, LoadReports):
        raise WrongKind(f"load reports are expected here, not {type(seen).__name__}")
    return seen


def _reports(seen: Observation) -> tuple[LoadReport, ...]:
    return _load_reports(seen).reports


def _gauges(in_progress: Mapping[LoadKey, int]) -> str:
    told = (f"{place}: {count} in progress" for place, count in sorted(in_progress.items()))
    return "; ".join(told) or "nothing in progress"


def _beginning(report: LoadReport) -> str:
    features = f" with {_listed(report.features)}" if report.features else ""
    load = (
        f", and load of {_listed(of.cluster for of in report.clusters)}" if report.clusters else ""
    )
    return f"node {report.node or 'not given'}{features}{load}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
