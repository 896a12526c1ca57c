import type { Mutant } from './mutants.ts';

const gates = 'operator/src/rollout/gates';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const missed = vitest(`${gates}/missedVeto.test.ts`);
const drift = vitest(`${gates}/scoreDrift.test.ts`);
const map = vitest(`${gates}/calibrationMap.test.ts`);
const ledger = vitest('operator/src/revisions/ledger.test.ts');

/** Bugs in what judges a verifier by the tasks, copies and figures of its rollout. */
export const verifierGates: readonly Mutant[] = [
  {
    guarantee: 'few tasks that went well prove no verifier',
    file: `${gates}/missedVeto.ts`,
    find: "upper <= margin ? 'Pass'",
    replace: "mine.missed / mine.total - base.missed / base.total <= margin ? 'Pass'",
    test: missed,
  },
  {
    guarantee: 'a verifier that misses more is refused only where that is not chance',
    file: `${gates}/missedVeto.ts`,
    find: "differenceLimit(a, b, z95) > margin ? 'Fail'",
    replace: "upper > margin ? 'Fail'",
    test: missed,
  },
  {
    guarantee: 'what a verifier refused it cannot have missed',
    file: 'operator/src/revisions/ledger.ts',
    find: 'if (acts.total <= acts.vetoed || (',
    replace: 'if ((',
    test: ledger,
  },
  {
    guarantee: 'a task that was undone went wrong, whatever its end says',
    file: 'operator/src/revisions/ledger.ts',
    find: 'Number(passed === false || rolledBack !== undefined)',
    replace: 'Number(passed === false)',
    test: ledger,
  },
  {
    guarantee: 'a book of before counts nothing that it does not hold',
    file: 'operator/src/revisions/ledger.ts',
    find: '[revision, { ...nothing, ...sums }]',
    replace: '[revision, sums]',
    test: ledger,
  },
  {
    guarantee: 'other probabilities than those of the stable verifier are a drift',
    file: `${gates}/scoreDrift.ts`,
    find: "value > chance ? 'Fail'",
    replace: "value > 1e9 ? 'Fail'",
    test: drift,
  },
  {
    guarantee: 'what may be chance is no drift',
    file: 'operator/src/rollout/statistics/distributions.ts',
    find: 'freedom * cube ** 3 * (1 / n + 1 / m)',
    replace: 'freedom * cube ** 3 * (1 / (n + m))',
    test: vitest('operator/src/rollout/statistics/statistics.test.ts'),
  },
  {
    guarantee: 'copies tell of a drift until tasks do, and no longer',
    file: `${gates}/scoreDrift.ts`,
    find: 'fewest(own) >= needed || fewest(copied) < needed ? own : copied',
    replace: 'fewest(copied) >= needed ? copied : own',
    test: drift,
  },
  {
    guarantee: 'bins of another release are not added to ours',
    file: 'operator/src/revisions/bins.ts',
    find: 'if (more?.length !== probabilityBins) return to;',
    replace: 'if (more === undefined) return to;',
    test: vitest('operator/src/revisions/shadow.test.ts'),
  },
  {
    guarantee: 'an act of which one verifier abstains is in no bin',
    file: 'agent-image/src/shadow/counts.ts',
    find: '  if (found === undefined) return counts;\n  const [stableBins',
    replace: '  if (found === undefined) return { ...counts, stableBins: more(counts.stableBins, 0.5) };\n  const [stableBins',
    test: vitest('agent-image/src/shadow/mirror.test.ts'),
  },
  {
    guarantee: 'no plateau of a calibration lies at the veto',
    file: `${gates}/calibrationMap.ts`,
    find: 'if (found === undefined || found >= minDistance) return undefined;',
    replace: 'if (found === undefined || found >= 0) return undefined;',
    test: map,
  },
  {
    guarantee: 'a map of too few acts is refused, and no gate waits for it',
    file: `${gates}/calibrationMap.ts`,
    find: 'if (!(samples >= minSamples))',
    replace: 'if (samples < 0)',
    test: map,
  },
  {
    guarantee: 'every head that vetoes needs a map to veto by',
    file: `${gates}/calibrationMap.ts`,
    find: 'vetoing.map((head) => refusalOf(head, gate)).find(',
    replace: 'vetoing.slice(0, 1).map((head) => refusalOf(head, gate)).find(',
    test: map,
  },
  {
    guarantee: 'a Brier score that nobody measured never passes',
    file: `${gates}/heldOut.ts`,
    find: '[...canary.heads, ...stable.heads].find((head) => head[bound.field] === undefined)',
    replace: 'canary.heads.find((head) => head[bound.field] === undefined)',
    test: vitest(`${gates}/heldOut.test.ts`),
  },
  {
    guarantee: 'a map is looked at by the veto in force',
    file: 'operator/src/controllers/energymodel/rollout/rollouts.ts',
    find: 'veto: fixed ?? vetoBelowProbability',
    replace: 'veto: vetoBelowProbability',
    test: vitest('operator/src/controllers/energymodel/rollout/course.test.ts'),
  },
  {
    guarantee: 'answers of a query fail a gate only when as many in a row are out of bounds as its limit says',
    file: `${gates}/query.ts`,
    find: 'outside > failureLimit',
    replace: 'outside > 0',
    test: vitest(`${gates}/query.test.ts`),
  },
  {
    guarantee: 'a query that errors is missing data, whatever it answered before',
    file: `${gates}/query.ts`,
    find: 'answers?.lacks !== undefined || ',
    replace: '',
    test: vitest(`${gates}/query.test.ts`),
  },
  {
    guarantee: 'a canary that never gets samples is held, and said so',
    file: 'operator/src/rollout/machine/advance.ts',
    find: 'if (stepSamples < minSamples) return',
    replace: 'if (stepSamples < -1) return',
    test: vitest('operator/src/revisions/badInput.test.ts'),
  },
  {
    guarantee: 'a task that a person had undone is a missed veto, and one that he only cancelled is not',
    file: 'operator/src/revisions/sample.ts',
    find: "?.reason === 'Cancelled' && rolledBackOf(task) !== undefined",
    replace: "?.reason === 'Cancelled'",
    test: vitest('operator/src/revisions/revisions.test.ts'),
  },
  {
    guarantee: 'what copies say of probabilities holds a revision back in shadow',
    file: `${gates}/phases.ts`,
    find: "  ScoreDrift: 'Scores',",
    replace: "  ScoreDrift: 'Tasks',",
    test: vitest('operator/src/revisions/shadow.test.ts'),
  },
];
