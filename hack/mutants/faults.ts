import type { Mutant } from './mutants.ts';
import { walls } from './walls.ts';

const keeper = 'sandbox-image/keeper/src';
const snapshot = `${keeper}/snapshot`;
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const go = (run: string): Mutant['test'] => ({ kind: 'go', packages: './test', run });

/** Bugs in what bad input and failing parts meet: each has a class, and a state that is before or after. */
export const faults: readonly Mutant[] = [
  ...walls,
  {
    guarantee: 'faults: a clock that is set back hides no change',
    file: `${snapshot}/scan/node.ts`,
    find: 'node.ctimeMs === stat.ctimeMs &&',
    replace: 'node.ctimeMs >= 0 &&',
    test: vitest(`${snapshot}/badInput.test.ts`),
  },
  {
    guarantee: 'faults: a device that came since is removed by a restore',
    file: `${snapshot}/restore/plan.ts`,
    find: "kind === 'socket' || kind === 'device');",
    replace: "kind === 'socket');",
    test: vitest(`${snapshot}/badInput.test.ts`),
  },
  {
    guarantee: 'faults: a tree of too many paths is refused',
    file: `${snapshot}/scan/treeLimits.ts`,
    find: 'if (this.#weight + names <= this.#limits.entries) return;',
    replace: 'if (names >= 0) return;',
    test: vitest(`${snapshot}/casEngine.limits.test.ts`),
  },
  {
    guarantee: 'faults: what a killed restore had staged is removed at the next start',
    file: `${snapshot}/casEngine.ts`,
    find: '    this.#staging.recover();\n',
    replace: '',
    test: vitest(`${snapshot}/casEngine.faults.test.ts`),
  },
  {
    guarantee: 'faults: what a killed keeper had opened up is closed again',
    file: `${snapshot}/casEngine.ts`,
    find: '    guard.recover();\n',
    replace: '',
    test: vitest(`${snapshot}/casEngine.faults.test.ts`),
  },
  {
    guarantee: 'faults: a command that grows over the quota is ended',
    file: `${keeper}/exec/executor.ts`,
    find: "const over = (): void => command.kill('QuotaExceeded');",
    replace: 'const over = (): void => undefined;',
    test: vitest(`${keeper}/exec/admission.test.ts`),
  },
  {
    guarantee: 'faults: no command starts over the quota',
    file: `${keeper}/exec/executor.ts`,
    find: '    await this.#options.quota.assertWithin();\n',
    replace: '',
    test: vitest(`${keeper}/exec/admission.test.ts`),
  },
  {
    guarantee: 'faults: old output gives way to new commands and to the snapshot before a rollback',
    file: `${keeper}/exec/outputRoom.ts`,
    find: 'await this.#cutWhile((freed) => freed < bytes && archive.finishedBytes > 0)',
    replace: 'await this.#cutWhile((freed) => freed < 0 && archive.finishedBytes > bytes)',
    test: vitest(`${keeper}/exec/outputRoom.test.ts`),
  },
  {
    guarantee: 'faults: what has no room for its snapshot is taken back all the same',
    file: 'agent-image/src/attempt/rollback.ts',
    find: '(await hands.snapshot(label).catch(unlessUnable))',
    replace: '(await hands.snapshot(label))',
    test: vitest('agent-image/src/attempt/rollback.test.ts'),
  },
  {
    guarantee: 'faults: a command that the death of the keeper cut off has an end',
    file: `${keeper}/exec/recover.ts`,
    find: 'if (interrupted) await appendFile(',
    replace: 'if (interrupted && lines < 0) await appendFile(',
    test: vitest(`${keeper}/exec/executor.test.ts`),
  },
  {
    guarantee: 'faults: more processes than allowed end the command',
    file: 'sandbox-image/runner/internal/supervise/task.go',
    find: 'if len(t.tree()) > t.processes {',
    replace: 'if len(t.tree()) < 0 {',
    test: go('TestProcessLimitEndsTheTree'),
  },
  {
    guarantee: 'faults: output over its limit is counted and not kept',
    file: 'sandbox-image/runner/internal/serve/output.go',
    find: 'o.dropped += int64(len(data) - n)',
    replace: 'o.dropped += 0 * int64(len(data)-n)',
    test: go('TestOutputFloodIsCountedNotKept'),
  },
  {
    guarantee: 'faults: an object store that is away is told as such',
    file: 'agent-image/src/durable/durability.ts',
    find: "const reason = error instanceof StoreFailure ? 'CheckpointUnreachable' :",
    replace: "const reason = error === undefined ? 'CheckpointUnreachable' :",
    test: vitest('agent-image/src/durable/durability.faults.test.ts'),
  },
  {
    guarantee: 'a silence of a command is told',
    file: `${keeper}/exec/silence.ts`,
    find: '      this.#onQuiet(silentMs);\n',
    replace: '',
    test: vitest(`${keeper}/exec/spill.test.ts`),
  },
  {
    guarantee: 'the command line ends with a fault when a log does not hold',
    file: 'cli/src/commands/auditVerify.ts',
    find: '  if (faults > 0)\n',
    replace: '  if (faults > Number.MAX_SAFE_INTEGER)\n',
    test: vitest('cli/src/audit.test.ts'),
  },
  {
    guarantee: 'no trace of a task is exported without its consent',
    file: 'cli/src/commands/trace.ts',
    find: 'if (consentCovers(consent, asked)) return null;',
    replace: 'if (!consentCovers(asked, consent)) return null;',
    test: vitest('cli/src/trace.test.ts'),
  },
  {
    guarantee: 'consent to a trace is in the log before any work, and the first word counts',
    file: 'agent-image/src/attempt/engine.ts',
    find: 'if (!notes.hasBegun) await',
    replace: 'if (notes.hasBegun) await',
    test: vitest('test/loop/trace.test.ts'),
  },
  {
    guarantee: 'the prompts of a trace are the messages that a model was sent',
    file: 'agent-image/src/trace/fold.ts',
    find: 'last[1] === number - 1) last[1] = number;',
    replace: 'last[1] < number) last[1] = number;',
    test: vitest('agent-image/src/trace/fold.test.ts'),
  },
  {
    guarantee: 'a bundle tells of the effects outside between its two snapshots and of no others',
    file: `${keeper}/externalEffects.ts`,
    find: 'if (kind === effectNotes.planned && this.#open)',
    replace: 'if (kind === effectNotes.planned)',
    test: vitest(`${keeper}/externalEffects.test.ts`),
  },
];
