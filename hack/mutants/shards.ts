import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const plans: Mutant['test'] = { kind: 'vitest', path: `${controller}/shards.test.ts` };
const pods: Mutant['test'] = { kind: 'vitest', path: 'operator/src/serving/shards.test.ts' };
const experts: Mutant['test'] = { kind: 'vitest', path: 'operator/src/controllers/expertpool/shards.test.ts' };
const memory: Mutant['test'] = { kind: 'vitest', path: 'operator/src/placement/memory/estimate.test.ts' };
const property: Mutant['test'] = { kind: 'vitest', path: 'operator/src/placement/solver/solve.property.test.ts' };

/** Of engines that span several GPUs. */
export const shards: readonly Mutant[] = [
  {
    guarantee: 'an engine on several GPUs starts when all of them are free',
    file: `${controller}/admit.ts`,
    find: 'if (assignments.every(({ slot }) => !taken.has(slot)))',
    replace: 'if (assignments.some(({ slot }) => !taken.has(slot)))',
    test: plans,
  },
  {
    guarantee: 'nobody less important starts on a GPU that waits for the others of its engine',
    file: `${controller}/admit.ts`,
    find: '    for (const { slot } of assignments) taken.add(slot);\n',
    replace: '    for (const { slot } of assignments) if (assignments.length < 2) taken.add(slot);\n',
    test: plans,
  },
  {
    guarantee: 'one GPU of an engine whose turn comes anew keeps the others back',
    file: `${controller}/shards.ts`,
    find: 'place.admitted && waiting.has(place.item) ? { ...place, admitted: false }',
    replace: 'place.admitted && waiting.has(place.slot) ? { ...place, admitted: false }',
    test: plans,
  },
  {
    guarantee: 'an engine that lost one of its GPUs and finds no others keeps the sound ones',
    file: `${controller}/serve.ts`,
    find: 'held.filter(({ item }) => hurt.has(item) && !places.has(item));',
    replace: 'held.filter(({ item, slot }) => hurt.has(item) && faulty.has(slot) && !places.has(item));',
    test: plans,
  },
  {
    guarantee: 'the sound GPUs of an engine that waits for one are nobody else’s',
    file: `${controller}/shards.ts`,
    find: 'own.length > 1 && !found.has(item)',
    replace: 'own.length > 2 && !found.has(item)',
    test: plans,
  },
  {
    guarantee: 'GPUs share heads that they divide',
    file: `${controller}/shards.ts`,
    find: 'return heads % shards === 0 && ',
    replace: 'return ',
    test: plans,
  },
  {
    guarantee: 'GPUs of a plugin are joined when all of the node are',
    file: `${controller}/shards.ts`,
    find: '!counted || whole(node)',
    replace: 'counted || whole(node)',
    test: plans,
  },
  {
    guarantee: 'an engine on several GPUs takes its bytes on each',
    file: `${controller}/solution.ts`,
    find: 'slots.map((slot) => ({ item, slot, bytes }))',
    replace: 'slots.map((slot) => ({ item, slot, bytes: Math.ceil(bytes / slots.length) }))',
    test: plans,
  },
  {
    guarantee: 'memory is reckoned for as many GPUs as share the weights',
    file: `${controller}/demand.ts`,
    find: '    shards: shardsOf(expert),\n',
    replace: '    shards: 1,\n',
    test: plans,
  },
  {
    guarantee: 'no pod is made for another number of GPUs than the plan has',
    file: 'operator/src/serving/seat.ts',
    find: 'if (found.length !== shards)',
    replace: 'if (found.length > shards)',
    test: experts,
  },
  {
    guarantee: 'keys and values are told for each GPU',
    file: 'operator/src/controllers/expertpool/manifests/languageModel.ts',
    find: 'engine.vLLM.maxModelLen) * bytesPerToken(sizes, shardsOf(expert));',
    replace: 'engine.vLLM.maxModelLen) * bytesPerToken(sizes);',
    test: experts,
  },
  {
    guarantee: 'shared memory of an engine is asked for as memory',
    file: 'operator/src/serving/vllm/pod.ts',
    find: 'memory: String(bytes + shared)',
    replace: 'memory: String(bytes)',
    test: pods,
  },
  {
    guarantee: 'boards of an engine are known when all of them are held',
    file: 'operator/src/serving/seat.ts',
    find: "plan.mode === 'Reservation' ? found.find(({ uuid }) => uuid === undefined)",
    replace: "plan.mode === 'Reservation' ? found.find(({ uuid }, index) => index === 0 && uuid === undefined)",
    test: pods,
  },
  {
    guarantee: 'more GPUs than heads of keys and values have one each',
    file: 'operator/src/placement/memory/estimate.ts',
    find: 'Math.max(1, kvHeads / shards)',
    replace: 'kvHeads / shards',
    test: memory,
  },
  {
    guarantee: 'GPUs that talk have buffers for it',
    file: 'operator/src/placement/memory/estimate.ts',
    find: 'shards > 1 ? linkBytes : 0',
    replace: '0',
    test: memory,
  },
  {
    guarantee: 'links that count for nothing keep no shards apart',
    file: 'operator/src/placement/solver/model.ts',
    find: "(type === 'NV' || problem.nvlink === 'Ignore')",
    replace: "type === 'NV'",
    test: property,
  },
];
