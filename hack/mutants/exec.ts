import type { Mutant } from './mutants.ts';

const keeper = 'sandbox-image/keeper/src';
const runner = 'sandbox-image/runner/internal';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const go = (packages: string, run: string): Mutant['test'] => ({ kind: 'go', packages, run });

/** Bugs in live input, terminals, sessions, and commands that only read. */
export const execs: readonly Mutant[] = [
  {
    guarantee: 'no session opens where its shell cannot be frozen',
    file: `${runner}/supervise/session.go`,
    find: 'if err := freeze(s.root); err != nil {',
    replace: 'if err := freeze(s.root); err != nil && s.root < 0 {',
    test: go('./test', 'TestNoSessionOpensWhereTracingIsRefused'),
  },
  {
    guarantee: 'a frozen shell is not woken by the signals that it has sent to itself',
    file: `${runner}/supervise/freeze.go`,
    find: 'return ptrace(unix.PTRACE_INTERRUPT, pid, 0)',
    replace: 'return unix.Kill(pid, unix.SIGSTOP)',
    test: go('./test', 'TestAReplacedShellIsFrozenToo'),
  },
  {
    guarantee: 'nothing but the shell is left when a command of a session has ended',
    file: `${runner}/supervise/settle.go`,
    find: 'case s.frozen && s.quiet >= 2:',
    replace: 'case s.frozen && s.quiet >= 1:',
    test: go('./internal/supervise', 'TestARunEndsAfterTwoQuietLooks'),
  },
  {
    guarantee: 'a hung command of a session begins no next step',
    file: `${runner}/supervise/session.go`,
    find: '		_ = unix.Kill(s.root, unix.SIGURG)\n		s.signalOthers(unix.SIGTERM)',
    replace: '		s.signalOthers(unix.SIGTERM)',
    test: go('./test', 'TestAHungCommandEndsAndBashLives'),
  },
  {
    guarantee: 'programs do not get the descriptors by which a shell tells its state',
    file: `${runner}/supervise/driver.bash`,
    find: 'else __af_run 3<&- 4>&-; fi',
    replace: 'else __af_run; fi',
    test: go('./test', 'TestDescriptorsOfTheShellReachNoCommand'),
  },
  {
    guarantee: 'a full input is told and holds up nobody',
    file: `${runner}/serve/input.go`,
    find: 'case i.waiting:',
    replace: 'case i.waiting && len(body) == 0:',
    test: go('./test', 'TestAFullPipeIsBusyAndHoldsUpNobody'),
  },
  {
    guarantee: 'a command on a terminal controls it',
    file: `${runner}/supervise/start.go`,
    find: 'Setctty: io.terminal',
    replace: 'Setctty: false',
    test: go('./test', 'TestACommandOnATerminal'),
  },
  {
    guarantee: 'a reading command writes to no scratch folder either',
    file: `${runner}/sandbox/restrict.go`,
    find: '		if err := p.readersOnly(); err != nil {',
    replace: '		if err := p.rules.write(scratch); err != nil {\n			return err\n		}\n		if err := p.readersOnly(); err != nil {',
    test: go('./test', 'TestAReaderWritesNothing'),
  },
  {
    guarantee: 'a reading command changes no modes and times',
    file: `${runner}/sandbox/restrict.go`,
    find: '	if p.readers != nil {',
    replace: '	if p.readers == nil {',
    test: go('./test', 'TestAReaderWritesNothing'),
  },
  {
    guarantee: 'input that was taken is not written again',
    file: `${keeper}/exec/input.ts`,
    find: 'if (seq <= this.#last) return this.#again(seq, digest);',
    replace: 'if (seq < this.#last) return this.#again(seq, digest);',
    test: vitest(`${keeper}/exec/interactive.test.ts`),
  },
  {
    guarantee: 'sessions end with a restore',
    file: `${keeper}/http/routes-snapshots.ts`,
    find: "await sessions.closeAll('Restored');",
    replace: '',
    test: vitest(`${keeper}/exec/sessions.test.ts`),
  },
  {
    guarantee: 'sessions end with their assignment',
    file: `${keeper}/keeper.ts`,
    find: "await sessions.closeAll('Superseded', to);",
    replace: '',
    test: vitest(`${keeper}/exec/sessions.test.ts`),
  },
  {
    guarantee: 'no session outlives its tools container',
    file: `${keeper}/keeper.ts`,
    find: 'sessions.toolsLost();',
    replace: '',
    test: vitest(`${keeper}/exec/sessions.test.ts`),
  },
  {
    guarantee: 'a session that was rebuilt says so',
    file: `${keeper}/exec/session.ts`,
    find: 'this.#restarted = again;',
    replace: 'this.#restarted = false;',
    test: vitest(`${keeper}/exec/sessions.test.ts`),
  },
  {
    guarantee: 'no snapshot is taken or restored beside a command that writes',
    file: `${keeper}/gate.ts`,
    find: "  Still: ['Exclusive', 'Still', 'Writer', 'Shared'],",
    replace: "  Still: ['Exclusive', 'Still', 'Shared'],",
    test: vitest(`${keeper}/gate.test.ts`),
  },
  {
    guarantee: 'a file that is read beside a command lies inside the roots',
    file: `${keeper}/files/read.ts`,
    find: 'if (!(await standsAt(handle, join(folder, name))))',
    replace: 'if (!(await standsAt(handle, join(folder, name))) && folder === name)',
    test: vitest(`${keeper}/files/files.test.ts`),
  },
];
