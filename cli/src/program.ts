import {
  type EvalJudgeFlags,
  type EvalRunFlags,
  type EvalScenariosFlags,
  type EvalVerifyFlags,
  type MigrateFlags,
  type TraceFlags,
  type UndoFlags,
  answer,
  auditShow,
  auditVerify,
  cancel,
  decideRollout,
  diff,
  evalCompare,
  evalJudge,
  evalReport,
  evalRunCluster,
  evalRunLocal,
  evalScenarios,
  evalVerify,
  message,
  migrate,
  modes,
  show,
  tasks,
  trace,
  traceFiles,
  undo,
} from './commands/index.ts';
import { Option, Command, InvalidArgumentError } from 'commander';
import { ablations, defaultBudget } from '@agentfleet/eval';
import type { ConnectionFlags } from './base/connection.ts';
import { type Dispatch, given } from './dispatch.ts';
import { addModelOptions, wholeNumber } from './base/modelOptions.ts';
import { traceConsents } from '@agentfleet/protocol/trace';
import { isFile, type LogFlags } from './evidence/log.ts';
import type { ArtifactFlags } from './evidence/artifact.ts';

const list = (text: string): readonly string[] => text.split(',').filter((name) => name !== '');
const mostSeed = 2 ** 31 - 1;

interface RunOptions extends Omit<EvalRunFlags, 'ablate' | 'resume'>, ConnectionFlags {
  readonly ablate: readonly string[];
  readonly matrix?: boolean;
  readonly resume?: boolean;
}

function addRun(program: Command, dispatch: Dispatch): void {
  const run = program
    .command('run <pack...>')
    .description('run packs and judge what was made of their tasks by checks that no agent saw')
    .option('--pool <pool>', 'local: processes of this machine; NAMESPACE/NAME: a pool of the cluster', 'local')
    .addOption(new Option('--split <half>', 'tasks to tune on, or tasks to report').choices(['dev', 'held-out']))
    .option('--only <text>', 'tasks with this in their id, or with one of several, separated by commas')
    .option('--sample <n>', 'so many tasks of each pack, the same for the same seed', wholeNumber(1, 100_000))
    .option('--seed <n>', 'of the sample and of all attempts, the same for all variants', wholeNumber(0, mostSeed), 1)
    .option('--rounds <n>', 'make each attempt so often; 2 shows what flakes', wholeNumber(1, 10), 1)
    .option('--parallel <n>', 'attempts at a time', wholeNumber(1, 64), 2)
    .option('--ablate <names>', `compare with the fleet without a part: ${ablations.join(', ')}`, list, [])
    .option('--matrix', 'compare with every ablation')
    .option('--profiles <names>', 'profiles of the pool of a cluster, to be compared', list, [])
    .addOption(
      new Option(
        '--judge <place>',
        'where patches of a cluster meet hidden checks: in sandboxes of this machine, or in fresh ones of the pool',
      )
        .choices(['local', 'pool'])
        .default('local'),
    )
    .option('--tool-calls <n>', 'commands and edits of each attempt', wholeNumber(1, 1_000_000), defaultBudget.toolCalls)
    .option('--wall-seconds <n>', 'wall time of each attempt', wholeNumber(10, 86_400), defaultBudget.wallSeconds)
    .option('--out <folder>', 'where results and reports go', 'eval-results')
    .option('--resume', 'go on with the results that are there');
  addModelOptions(run).action((packs: string[], _: unknown, command: Command) => {
    const { matrix = false, resume = false, ...flags } = command.optsWithGlobals<RunOptions>();
    const given = { ...flags, resume, ablate: matrix ? ablations : flags.ablate };
    if (given.pool === 'local') return dispatch.locally((context) => evalRunLocal(context, packs, given));
    return dispatch.connected(flags, (context) => evalRunCluster(context, packs, given));
  });
}

/** Commands about packs and how well they are solved. */
function addEval(root: Command, dispatch: Dispatch): void {
  const program = root.command('eval').description('measure a pool by packs of tasks');
  addRun(program, dispatch);
  program
    .command('compare <first> <second>')
    .description('compare two results task by task; each is a folder, or FOLDER:VARIANT')
    .action((first: string, second: string) => dispatch.locally((context) => evalCompare(context, first, second)));
  program
    .command('judge <pack>')
    .description('judge the dev half of hazard, hazard-2, injection or injection-2 by the gates, as before an act; nothing is run')
    .option('--ablate <names>', `compare with the fleet without a part: ${ablations.join(', ')}`, list, [])
    .addOption(new Option('--thresholds <source>', 'of the EnergyModel').choices(['Fixed', 'Calibration']).default('Fixed'))
    .option('--entries', 'list what was judged against its label')
    .option('--out <folder>', 'where the verdicts go as JSON')
    .action((pack: string, flags: EvalJudgeFlags) => dispatch.locally((context) => evalJudge(context, pack, flags)));
  program
    .command('scenarios <pack>')
    .description('play the scenarios of a pack in processes of this machine, and hold their event logs to what they say')
    .option('--only <text>', 'scenarios with this in their name')
    .option('--out <folder>', 'where the results go as JSON')
    .action((pack: string, flags: EvalScenariosFlags) => dispatch.locally((context) => evalScenarios(context, pack, flags)));
  program
    .command('report <folder>')
    .description('write the reports of results anew')
    .action((folder: string) => dispatch.locally((context) => evalReport(context, folder)));
  program
    .command('verify <pack>')
    .description('check that oracles pass, and that doing nothing and decoys do not')
    .option('--only <text>', 'tasks with this in their id')
    .option('--sample <n>', 'a fixed sample of so many', wholeNumber(1, 100_000))
    .option('--parallel <n>', 'tasks at a time', wholeNumber(1, 64), 2)
    .option('--out <folder>', 'where the numbers go as JSON')
    .option('--resume', 'go on with the numbers that are there; a task that has changed is verified anew')
    .action((pack: string, flags: EvalVerifyFlags) => dispatch.locally((context) => evalVerify(context, pack, flags)));
}

/** Adds the options that say where an artifact is taken from. */
function fromStore(command: Command): Command {
  return command
    .option('--file <path>', 'a copy of the artifact; its hash must be the one in the status of the task')
    .option('--endpoint <url>', 'fetch it: the S3 API of the bucket, reachable from here')
    .option('--credential-file <path>', 'file with access key id, a colon, secret key; default: requests are not signed')
    .option('--region <name>', 'region of the bucket; default: us-east-1');
}

function hash(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new InvalidArgumentError('write 64 hexadecimal digits: status.run.auditRoot of the task');
  return text;
}

function addAudit(program: Command, dispatch: Dispatch): void {
  const audit = program.command('audit').description('read and check the event log of a sandbox');
  fromStore(audit.command('verify <log>'))
    .description('check that nothing of an event log was altered, dropped, moved or put in; <log> is a file, or a task')
    .option('--root <hash>', 'head of the log, when it is a file: without it a missing end is not seen', hash)
    .action((log: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & LogFlags>();
      if (isFile(log, flags)) return dispatch.locally((context) => auditVerify(context, log, flags));
      return dispatch.connected(flags, (context) => auditVerify(context, log, flags));
    });
  fromStore(audit.command('show <log>'))
    .description('tell the story of an event log: steps, candidates, commands, approvals, requests, snapshots')
    .option('--json', 'as JSON')
    .action((log: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & LogFlags & { readonly json?: boolean }>();
      const { json = false } = flags;
      if (isFile(log, flags)) return dispatch.locally((context) => auditShow(context, log, { ...flags, json }));
      return dispatch.connected(flags, (context) => auditShow(context, log, { ...flags, json }));
    });
}

function root(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, folder] = /^([a-z][a-z0-9_]*)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || folder === undefined) throw new InvalidArgumentError('write NAME=FOLDER, such as home=/home/ann');
  return { ...before, [name]: folder };
}

function addUndo(program: Command, dispatch: Dispatch): void {
  fromStore(program.command('undo <task>'))
    .description('take what the task changed back out of a local folder, by its revert script')
    .requiredOption('--into <folder>', 'the folder that stands for the workspace of the task')
    .addOption(
      new Option('--mode <mode>', 'guard: only where all is as the task left it; force: overwrite; dry-run: only tell')
        .choices(modes)
        .default('guard'),
    )
    .option('--root <name=folder>', 'a folder for another root of the sandbox, which is left alone else', root)
    .addHelpText('after', '\nExit status: 0 done and verified, 1 not begun, 3 conflicts, 4 not verified, 5 an unsafe path.')
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & UndoFlags>();
      return dispatch.connected(flags, (context) => undo(context, task, flags));
    });
}

function addTrace(program: Command, dispatch: Dispatch): void {
  fromStore(program.command('trace [task...]'))
    .description('write what models were sent and proposed, and what came of it, as training data; <task> may be the file of a log')
    .option('--all', 'every finished task of the namespace whose consent covers --consent')
    .option('-o, --output <path>', 'a file instead of standard output')
    .addOption(
      new Option('--consent <use>', 'what it is for; spec.trace.consent of the task has to cover it')
        .choices(traceConsents.slice(1))
        .default('Training'),
    )
    .option('--root <hash>', 'head of the log, when it is a file', hash)
    .action((tasks: readonly string[], _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & TraceFlags>();
      if (tasks.length > 0 && tasks.every((task) => isFile(task, flags)))
        return dispatch.locally((context) => traceFiles(context, tasks, flags));
      return dispatch.connected(flags, (context) => trace(context, tasks, flags));
    });
}

/** Commands about what tasks leave behind. */
function addEvidence(program: Command, dispatch: Dispatch): void {
  addAudit(program, dispatch);
  addTrace(program, dispatch);
  addUndo(program, dispatch);
  fromStore(program.command('diff <task>'))
    .description('print what the task changed, for patch -p1 and git apply')
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & ArtifactFlags>();
      return dispatch.connected(flags, (context) => diff(context, task, flags));
    });
}

function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 86_400) throw new InvalidArgumentError('write whole seconds from 1 to 86400');
  return value;
}

interface OrderFlags extends ConnectionFlags {
  readonly reason?: string;
  readonly action?: string;
  readonly revision?: string;
  readonly wait?: boolean;
  readonly timeout: number;
}

function addAnswer(program: Command, dispatch: Dispatch, type: 'Approve' | 'Reject'): void {
  const verb = type.toLowerCase();
  program
    .command(`${verb} <target>`)
    .description(`${verb} the act that the task waits with, or the revision that expertpool/NAME or energymodel/NAME tries`)
    .option('--reason <text>', 'why, for the record')
    .option('--action <digest>', 'the act that is meant; it is an error when another one waits')
    .option('--revision <name>', 'the revision that is meant; it is an error when another one is tried')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { reason, action, revision, timeout: timeoutSeconds } = flags;
      if (task.includes('/'))
        return dispatch.connected(flags, (context) =>
          decideRollout(context, { type, target: task, timeoutSeconds, ...given({ reason, revision }) }),
        );
      return dispatch.connected(flags, (context) => answer(context, { type, task, timeoutSeconds, ...given({ reason, action }) }));
    });
}

function addWords(program: Command, dispatch: Dispatch): void {
  program
    .command('answer <task> <text>')
    .description('answer the question that the task waits with')
    .option('--action <digest>', 'the question that is meant; it is an error when another one waits')
    .option('--timeout <seconds>', 'how long to wait for the operator', seconds, 60)
    .action((task: string, text: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { action, timeout: timeoutSeconds } = flags;
      const options = { type: 'Answer', task, message: text, timeoutSeconds, ...given({ action }) } as const;
      return dispatch.connected(flags, (context) => answer(context, options));
    });
  program
    .command('message <task> <text>')
    .description('give the model of the task words, which it gets at its next step')
    .option('--wait', 'until the model has them')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action((task: string, text: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { wait = false, timeout: timeoutSeconds } = flags;
      return dispatch.connected(flags, (context) => message(context, { task, message: text, wait, timeoutSeconds }));
    });
}

function addCancel(program: Command, dispatch: Dispatch): void {
  program
    .command('cancel <task>')
    .description('cancel the task and undo what it changed')
    .option('--reason <text>', 'why, for the record')
    .option('--wait', 'until the task has ended')
    .option('--timeout <seconds>', 'how long to wait', seconds, 300)
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<OrderFlags>();
      const { reason, wait = false, timeout: timeoutSeconds } = flags;
      return dispatch.connected(flags, (context) => cancel(context, { task, wait, timeoutSeconds, ...given({ reason }) }));
    });
}

function addViews(program: Command, dispatch: Dispatch): void {
  program
    .command('tasks')
    .description('list tasks')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <labels>', 'with these labels only')
    .action((_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & { readonly allNamespaces?: boolean; readonly selector?: string }>();
      const { allNamespaces = false, selector } = flags;
      return dispatch.connected(flags, (context) => tasks(context, { allNamespaces, ...given({ selector }) }));
    });
  program
    .command('show <task>')
    .description('tell the story of one task')
    .action((task: string, _: unknown, command: Command) =>
      dispatch.connected(command.optsWithGlobals<ConnectionFlags>(), (context) => show(context, task)),
    );
}

function addMigrate(program: Command, dispatch: Dispatch): void {
  program
    .command('migrate <file...>')
    .description('rewrite manifests to the API of this version, and print what changed')
    .option('--dry-run', 'print only')
    .action((files: readonly string[], flags: MigrateFlags) => dispatch.locally((context) => migrate(context, files, flags)));
}

export type { Dispatch } from './dispatch.ts';

/** Commands and options. */
export function createProgram(dispatch: Dispatch): Command {
  const program = new Command('fleet')
    .description('What people do with agent tasks. As kubectl-fleet on the PATH it is "kubectl fleet".')
    .version('0.1.0')
    .option('-n, --namespace <name>', 'namespace of the task; default: that of the context')
    .option('--kubeconfig <path>', 'kubeconfig; default: $KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .showHelpAfterError('look at the options with --help');
  addAnswer(program, dispatch, 'Approve');
  addAnswer(program, dispatch, 'Reject');
  addWords(program, dispatch);
  addCancel(program, dispatch);
  addViews(program, dispatch);
  addEvidence(program, dispatch);
  addEval(program, dispatch);
  addMigrate(program, dispatch);
  return program;
}
