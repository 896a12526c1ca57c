import { InvalidArgumentError, Option, type Command } from 'commander';
import { traceConsents } from '@agentfleet/protocol/trace';
import type { LocalContext } from '../commands/index.ts';
import type { ConnectionFlags } from '../base/connection.ts';
import type { ArtifactFlags } from '../evidence/artifact.ts';
import { modes } from '../revert/modes.ts';
import { type Action, connected, type Dispatch, flagsOf, type Load, locally } from './dispatch.ts';

/** Adds the options that say where an artifact is taken from. */
export function fromStore(command: Command): Command {
  return command
    .option('--file <path>', 'a copy of the artifact instead of the results API; its hash must be the one in the status of the task')
    .option('--endpoint <url>', 'fetch it past the results API: the S3 API of the bucket, reachable from here')
    .option('--credential-file <path>', 'file with access key id, a colon, secret key; default: requests are not signed')
    .option('--region <name>', 'region of the bucket; default: us-east-1');
}

function hash(text: string): string {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new InvalidArgumentError('write 64 hexadecimal digits: status.run.auditRoot of the task');
  return text;
}

/** The action of a command about logs: it asks a cluster unless all of them are files. */
function ofLogs<Name extends string>(dispatch: Dispatch, load: Load<Name, LocalContext>, name: Name): Action {
  const [ofFiles, ofTasks] = [locally(dispatch, load, name), connected(dispatch, load, name)];
  return async (...given) => {
    const { isFile } = await import('../evidence/log.ts');
    const logs = [given[0]].flat() as readonly string[];
    const isLocal = logs.length > 0 && logs.every((log) => isFile(log, flagsOf(given) as ConnectionFlags & ArtifactFlags));
    await (isLocal ? ofFiles : ofTasks)(...given);
  };
}

function addAudit(program: Command, dispatch: Dispatch): void {
  const audit = program.command('audit').description('read and check the event log of a sandbox');
  fromStore(audit.command('verify <log>'))
    .description('check that nothing of an event log was altered, dropped, moved or put in; <log> is a file, or a task')
    .option('--root <hash>', 'head of the log, when it is a file: without it a missing end is not seen', hash)
    .action(ofLogs(dispatch, () => import('../commands/audit.ts'), 'auditVerify'));
  fromStore(audit.command('show <log>'))
    .description('print the records of an event log: steps, candidates, commands, approvals, requests, snapshots')
    .option('--json', 'as JSON')
    .action(ofLogs(dispatch, () => import('../commands/audit.ts'), 'auditShow'));
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
      new Option('--mode <mode>', 'guard: only where all is as the task left it; force: overwrite; dry-run: only report')
        .choices(modes)
        .default('guard'),
    )
    .option('--root <name=folder>', 'a folder for another root of the sandbox, which is left alone else', root)
    .addHelpText('after', '\nExit status: 0 done and verified, 1 not begun, 3 conflicts, 4 not verified, 5 an unsafe path.')
    .action(connected(dispatch, () => import('../commands/undo.ts'), 'undo'));
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
    .action(ofLogs(dispatch, () => import('../commands/trace.ts'), 'trace'));
}

/** Commands about what tasks leave behind. */
export function addEvidence(program: Command, dispatch: Dispatch): void {
  addAudit(program, dispatch);
  addTrace(program, dispatch);
  addUndo(program, dispatch);
  fromStore(program.command('diff <task>').alias('patch'))
    .description('print what the task changed, for patch -p1 and git apply')
    .action(connected(dispatch, () => import('../commands/diff.ts'), 'diff'));
}

/** The rewriting of manifests. */
export function addMigrate(program: Command, dispatch: Dispatch): void {
  program
    .command('migrate <file...>')
    .description('rewrite manifests to the API of this version, and print what changed')
    .option('--dry-run', 'print only')
    .action(locally(dispatch, () => import('../commands/migrate.ts'), 'migrate'));
}
