import type { Mutant } from './mutants.ts';

const tasks = 'operator/src/controllers/agenttask';
const order = { kind: 'vitest', path: `${tasks}/queue/poolQueue.test.ts` } as const;
const dependencies = { kind: 'vitest', path: `${tasks}/dependencies.test.ts` } as const;
const census = { kind: 'vitest', path: 'operator/src/runtime/taskCensus.test.ts' } as const;
const storage = { kind: 'vitest', path: `${tasks}/storage.test.ts` } as const;

/** Planted bugs of the queue of tasks, and of what is known of those that have ended. */
export const queues: readonly Mutant[] = [
  {
    guarantee: 'a task does not begin before what it depends on has succeeded',
    file: `${tasks}/dependencies.ts`,
    find: "other !== undefined && other.status?.finished !== 'true'),",
    replace: 'other !== undefined && other.status?.assignment === undefined),',
    test: dependencies,
  },
  {
    guarantee: 'a task whose dependency failed does not begin',
    file: `${tasks}/placing.ts`,
    find: '  if (failed.length > 0) {',
    replace: '  if (failed.length > 1) {',
    test: dependencies,
  },
  {
    guarantee: 'whoever depends on a task is woken by its end',
    file: `${tasks}/wakes.ts`,
    find: '    if (task === undefined) this.#dependentsOf(keyOf(old));\n',
    replace: '',
    test: dependencies,
  },
  {
    guarantee: 'a status that the server has in another order is not written again',
    file: `${tasks}/decide.ts`,
    find: '  if (status.conditions === undefined) return status;',
    replace: '  if (status !== undefined) return status;',
    test: { kind: 'vitest', path: `${tasks}/suspension.test.ts` },
  },
  {
    guarantee: 'namespaces share a pool equally',
    file: `${tasks}/queue/poolQueue.ts`,
    find: '  a.level - b.level ||\n',
    replace: '',
    test: order,
  },
  {
    guarantee: 'a task is told how many come before it as they will be served',
    file: `${tasks}/queue/poolQueue.ts`,
    find: 'const at = level - running;',
    replace: 'const at = level;',
    test: order,
  },
  {
    guarantee: 'tasks that cannot begin take no slot from others',
    file: `${tasks}/queue/poolQueue.ts`,
    find: 'if (waiting.size === 0 || room <= 0 || blocked(namespace)) continue;',
    replace: 'if (waiting.size === 0 || room <= 0) continue;',
    test: order,
  },
  {
    guarantee: 'no cache holds tasks that have ended',
    file: 'operator/src/runtime/taskCensus.ts',
    find: "export const unfinishedTasks = 'status.finished!=true';",
    replace: "export const unfinishedTasks = 'status.finished!=gone';",
    test: census,
  },
  {
    guarantee: 'a namespace whose last task is deleted is not served any more',
    file: 'operator/src/runtime/taskCensus.ts',
    find: '    void this.#ask(task);\n',
    replace: '',
    test: census,
  },
  {
    guarantee: 'a task that ended is looked at until its volume is settled',
    file: `${tasks}/controller.ts`,
    find: 'status.storage === undefined ? requeueAfterMs : 0',
    replace: 'requeueAfterMs',
    test: storage,
  },
  {
    guarantee: 'no second volume is made by an operator whose cache does not show the first one',
    file: `${tasks}/volumes.ts`,
    find: 'claims.every(isGoing) || ',
    replace: '',
    test: storage,
  },
];
