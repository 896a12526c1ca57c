import type { Mutant } from './mutants.ts';

const tasks = 'operator/src/controllers/agenttask';
const beats = { kind: 'vitest', path: 'operator/src/runtime/heartbeats.test.ts' } as const;
const idle = { kind: 'vitest', path: `${tasks}/idle.test.ts` } as const;

/** Planted bugs of what thousands of running tasks cost, and of how the loss of a worker is noticed without looking. */
export const tasksAtScale: readonly Mutant[] = [
  {
    guarantee: 'a worker that falls silent is told of in the moment in which it is lost',
    file: 'operator/src/runtime/heartbeats.ts',
    find: '      else this.#tell(key);\n',
    replace: '',
    test: beats,
  },
  {
    guarantee: 'a worker that renews its Lease is not told of as lost',
    file: 'operator/src/runtime/heartbeats.ts',
    find: '      if (this.freshMs(key) > 0) this.#watch(key);\n      else this.#tell(key);',
    replace: '      this.#tell(key);',
    test: beats,
  },
  {
    guarantee: 'the tasks of a worker that is lost go to another one at once',
    file: `${tasks}/controller.ts`,
    find: ': wakes?.workerIsLost(key)));',
    replace: ': undefined));',
    test: idle,
  },
  {
    guarantee: 'a running task is looked at again although nothing wakes it',
    file: `${tasks}/controller.ts`,
    find: "status.finished === 'true' ? Infinity : this.#fallbackMs()",
    replace: "status.phase === 'Running' ? Infinity : this.#fallbackMs()",
    test: idle,
  },
  {
    guarantee: 'a running task is not looked at while nothing changes',
    file: `${tasks}/controller.ts`,
    find: 'const fallbackMs = 3_600_000;',
    replace: 'const fallbackMs = 20_000;',
    test: idle,
  },
  {
    guarantee: 'a task that begins at once costs no Event',
    file: `${tasks}/milestones.ts`,
    find: "      if (status.conditions !== undefined) events.push(normal('Assigned', 'Assign', assignedNote(next)));",
    replace: "      events.push(normal('Assigned', 'Assign', assignedNote(next)));",
    test: { kind: 'vitest', path: `${tasks}/lifecycle.test.ts` },
  },
  {
    guarantee: 'a look at very many tasks may take as long as it goes on',
    file: 'operator/src/runtime/taskCensus.ts',
    find: 'Math.max(began, this.#pageAt) + timeoutMs',
    replace: 'began + timeoutMs',
    test: { kind: 'vitest', path: 'operator/src/runtime/taskCensus.test.ts' },
  },
  {
    guarantee: 'an event loop at rest is looked at once a second',
    file: 'operator/src/metrics/lagSampler.ts',
    find: 'lookMs.busy : lookMs.resting',
    replace: 'lookMs.busy : lookMs.busy',
    test: { kind: 'vitest', path: 'operator/src/metrics/lagSampler.test.ts' },
  },
  {
    guarantee: 'the library that reads kubeconfigs is not in what the image of the operator starts',
    file: 'hack/images/parts.ts',
    find: "join(repository, 'operator/src/main.ts'), [kubeconfigLibrary])",
    replace: "join(repository, 'operator/src/main.ts'))",
    test: { kind: 'vitest', path: 'hack/images/operatorBundle.test.ts' },
  },
  {
    guarantee: 'a task whose status does not fit is not tried again and again',
    file: `${tasks}/controller.ts`,
    find: '    if (unfitMs > 0) {',
    replace: '    if (unfitMs > Infinity) {',
    test: { kind: 'vitest', path: `${tasks}/unfit.test.ts` },
  },
  {
    guarantee: 'a task whose status did not fit goes on when it is changed',
    file: `${tasks}/unfit.ts`,
    find: 'known.uid === uid && known.generation === generation ?',
    replace: 'known.uid === uid ?',
    test: { kind: 'vitest', path: `${tasks}/unfit.test.ts` },
  },
];
