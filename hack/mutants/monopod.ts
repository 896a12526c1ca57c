import type { Mutant } from './mutants.ts';

const supervisor = 'inference-image/src/supervisor';
const told: Mutant['test'] = { kind: 'vitest', path: `${supervisor}/plan.test.ts` };
const processes: Mutant['test'] = { kind: 'vitest', path: `${supervisor}/supervise.test.ts` };
const order: Mutant['test'] = { kind: 'vitest', path: `${supervisor}/supervisor.test.ts` };
const template: Mutant['test'] = { kind: 'vitest', path: 'operator/src/serving/monopod.test.ts' };
const plans: Mutant['test'] = { kind: 'vitest', path: 'operator/src/controllers/placement/monopod.test.ts' };
const parts: Mutant['test'] = { kind: 'vitest', path: 'operator/src/controllers/expertpool/monopod.test.ts' };

/** Of engines that share one pod. */
export const monopod: readonly Mutant[] = [
  {
    guarantee: 'an engine sees the GPU of its own slot and no other',
    file: 'operator/src/serving/monopod.ts',
    find: 'gpus: [slots.indexOf(slot)]',
    replace: 'gpus: slots.map((_, index) => index)',
    test: template,
  },
  {
    guarantee: 'a GPU of a slot is asked for once, whoever shares it',
    file: 'operator/src/serving/monopod.ts',
    find: '[...new Set(engines.map(({ slot }) => slot))]',
    replace: '[...engines.map(({ slot }) => slot)]',
    test: template,
  },
  {
    guarantee: 'no engine answers for another: a Service names its port',
    file: 'operator/src/serving/monopod.ts',
    find: 'targetPort: enginePortName(name)',
    replace: "targetPort: 'http'",
    test: template,
  },
  {
    guarantee: 'engines that share a pod are heard',
    file: 'operator/src/controllers/expertpool/decide.ts',
    find: 'poolWalls(pool, operatorNamespace, monopodPlaces(snapshot), snapshot.prometheusNamespace, reach)',
    replace: 'poolWalls(pool, operatorNamespace, new Map(), snapshot.prometheusNamespace, reach)',
    test: parts,
  },
  {
    guarantee: 'an engine is not in its own pod and in the common one at once',
    file: 'operator/src/controllers/expertpool/decide.ts',
    find: 'expert.replicas > 0 && !isInMonopod(snapshot, expert)',
    replace: 'expert.replicas > 0',
    test: parts,
  },
  {
    guarantee: 'the common pod waits for the pods that its engines had',
    file: 'operator/src/controllers/expertpool/monopod.ts',
    find: 'waits ? 0 : 1',
    replace: 'waits ? 1 : 1',
    test: parts,
  },
  {
    guarantee: 'what runs in the common pod stays while an engine cannot be in it',
    file: 'operator/src/controllers/expertpool/monopod.ts',
    find: '|| monopodExperts(snapshot).length > 0',
    replace: '',
    test: parts,
  },
  {
    guarantee: 'an engine of another image is not put into the common pod',
    file: 'operator/src/controllers/placement/monopod.ts',
    find: 'if (why !== undefined) return',
    replace: "if (why === '') return",
    test: plans,
  },
  {
    guarantee: 'the pod with all engines does not start anew for each of them',
    file: 'operator/src/controllers/placement/admit.ts',
    find: "tenant.holder.mode === 'Monopod' && mayStart(tenant)",
    replace: 'false',
    test: plans,
  },
  {
    guarantee: 'the memory of an engine in the common pod is its own while the pod is there',
    file: 'operator/src/controllers/placement/observe.ts',
    find: '.get(item)?.slot === slot',
    replace: '.get(item)?.slot === item',
    test: plans,
  },
  {
    guarantee: 'an engine without a GPU sees none, not all',
    file: `${supervisor}/supervise.ts`,
    find: "CUDA_VISIBLE_DEVICES: gpus.join(',')",
    replace: "...(gpus.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: gpus.join(',') })",
    test: told,
  },
  {
    guarantee: 'an engine that keeps ending is started ever more rarely',
    file: `${supervisor}/child.ts`,
    find: '2 ** Math.max(0, failures - 1)',
    replace: '2 ** 0',
    test: told,
  },
  {
    guarantee: 'engines of one GPU start one after another',
    file: `${supervisor}/supervisor.ts`,
    find: 'for (const before of shares) await',
    replace: 'for (const before of shares.slice(shares.length)) await',
    test: order,
  },
  {
    guarantee: 'a supervisor ends with all of its engines',
    file: `${supervisor}/supervisor.ts`,
    find: "() => this.#kill('SIGKILL')",
    replace: '() => undefined',
    test: processes,
  },
];
