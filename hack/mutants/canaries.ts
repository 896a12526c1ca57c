import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const pool = 'operator/src/controllers/expertpool';
const tests: Mutant['test'] = { kind: 'vitest', path: `${controller}/canaries.test.ts` };
const places: Mutant['test'] = { kind: 'vitest', path: `${pool}/rollout/places.test.ts` };
const adapters: Mutant['test'] = { kind: 'vitest', path: `${pool}/serverHash.test.ts` };
const crashes: Mutant['test'] = { kind: 'vitest', path: 'operator/src/crash/gpus.test.ts' };

/** Of revisions that are tried on GPUs. */
export const canaries: readonly Mutant[] = [
  {
    guarantee: 'memory of a revision is free when its pods are gone, and not before',
    file: `${controller}/serve.ts`,
    find: '!known.has(assignment.item) && present(owner, assignment)',
    replace: '!known.has(assignment.item) && !present(owner, assignment)',
    test: tests,
  },
  {
    guarantee: 'pods of a revision are where the ledger says as long as they are there',
    file: `${controller}/observe.ts`,
    find: 'return makes || pods.some(',
    replace: 'return makes && pods.some(',
    test: crashes,
  },
  {
    guarantee: 'a promotion moves no engine to the slot that its spec names',
    file: `${controller}/problem.ts`,
    find: 'stays === true && places.length === shards',
    replace: 'stays === true && places.length !== shards',
    test: tests,
  },
  {
    guarantee: 'engines that are told to end start no more',
    file: `${controller}/admit.ts`,
    find: 'ending?.has(item) !== true',
    replace: 'ending?.has(item) !== null',
    test: tests,
  },
  {
    guarantee: 'what serves takes the place of a canary only when its pods are gone',
    file: `${controller}/serve.ts`,
    find: 'return evicted.length > 0 ?',
    replace: 'return evicted.length > 99 ?',
    test: tests,
  },
  {
    guarantee: 'all engines of a revision come to their GPUs, or none',
    file: `${controller}/canaries.ts`,
    find: 'return rejected.length > 0 ? { places: held, rejected }',
    replace: 'return rejected.length > 9 ? { places: held, rejected }',
    test: tests,
  },
  {
    guarantee: 'a canary goes beside what serves before it goes elsewhere',
    file: `${controller}/canaries.ts`,
    find: '[named, any] : [same, named, any]',
    replace: '[named, any] : [named, any]',
    test: tests,
  },
  {
    guarantee: 'nothing moves while the record of what serves is not to be seen',
    file: `${controller}/servers.ts`,
    find: 'if (serving === undefined) return undefined;',
    replace: 'if (serving === undefined) return [];',
    test: tests,
  },
  {
    guarantee: 'pods of a revision have its own place, whatever serves',
    file: `${pool}/seating.ts`,
    find: 'itemOf(expert.name, revision)',
    replace: 'itemOf(expert.name, revision?.slice(8))',
    test: places,
  },
  {
    guarantee: 'a canary that lost its place on a GPU does not go on',
    file: `${pool}/rollout/places.ts`,
    find: '.filter(({ admitted }) => admitted)',
    replace: '',
    test: places,
  },
  {
    guarantee: 'pods on GPUs wait for no revision that needs their places',
    file: `${pool}/rollout/plan.ts`,
    find: 'found !== undefined && !wasSeated(found.spec?.template)',
    replace: 'found !== undefined',
    test: { kind: 'vitest', path: `${pool}/rollout/plan.test.ts` },
  },
  {
    guarantee: 'an adapter belongs to the engine of its own revision',
    file: `${pool}/serverHash.ts`,
    find: 'base === undefined ? undefined : serverHash({ experts, images }, base)',
    replace: 'undefined',
    test: adapters,
  },
  {
    guarantee: 'an engine has room for another revision of its adapters from the beginning',
    file: `${pool}/manifests/adapters.ts`,
    find: 'spec.rollout === undefined ? 1 : 2',
    replace: 'spec.rollout === undefined ? 1 : 1',
    test: adapters,
  },
  {
    guarantee: 'other weights of an adapter have another name in the engine',
    file: `${pool}/manifests/languageModel.ts`,
    find: '`.${adapter.hash}`',
    replace: "''",
    test: adapters,
  },
  {
    guarantee: 'an engine whose memory is far from what was reckoned is told of',
    file: `${pool}/memory.ts`,
    find: 'Math.abs(Number(errorRatio)) > driftTolerance',
    replace: 'Number(errorRatio) < -driftTolerance',
    test: { kind: 'vitest', path: `${pool}/memory.test.ts` },
  },
  {
    guarantee: 'what an engine needs beyond what was reckoned is given to nobody else',
    file: `${controller}/serve.ts`,
    find: 'if (roomy?.complete === true && still)',
    replace: 'if (roomy?.complete === false && still)',
    test: { kind: 'vitest', path: `${controller}/decide.test.ts` },
  },
  {
    guarantee: 'a server tells how many tokens its engine holds',
    file: 'inference-image/src/engines/vllm/control.ts',
    find: "known.startsWith('vllm:cache_config_info{')",
    replace: "known.startsWith('vllm:cache_config{')",
    test: { kind: 'vitest', path: 'inference-image/src/engines/vllm/engine.test.ts' },
  },
];
