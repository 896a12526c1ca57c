import { InvalidArgumentError, Option, type Command } from 'commander';
import { traceConsents } from '@agentfleet/protocol/trace';
import type { MigrateFlags, TraceFlags, UndoFlags } from '../commands/index.ts';
import type { ConnectionFlags } from '../base/connection.ts';
import type { ArtifactFlags } from '../evidence/artifact.ts';
import type { LogFlags } from '../evidence/log.ts';
import { modes } from '../revert/modes.ts';
import type { Dispatch } from './dispatch.ts';

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

function addAudit(program: Command, dispatch: Dispatch): void {
  const audit = program.command('audit').description('read and check the event log of a sandbox');
  fromStore(audit.command('verify <log>'))
    .description('check that nothing of an event log was altered, dropped, moved or put in; <log> is a file, or a task')
    .option('--root <hash>', 'head of the log, when it is a file: without it a missing end is not seen', hash)
    .action(async (log: string, _: unknown, command: Command) => {
      const { isFile } = await import('../evidence/log.ts');
      const flags = command.optsWithGlobals<ConnectionFlags & LogFlags>();
      if (isFile(log, flags))
        return dispatch.locally(async (context) => (await import('../commands/audit.ts')).auditVerify(context, log, flags));
      return dispatch.connected(flags, async (context) => (await import('../commands/audit.ts')).auditVerify(context, log, flags));
    });
  fromStore(audit.command('show <log>'))
    .description('print the story of an event log: steps, candidates, commands, approvals, requests, snapshots')
    .option('--json', 'as JSON')
    .action(async (log: string, _: unknown, command: Command) => {
      const { isFile } = await import('../evidence/log.ts');
      const flags = command.optsWithGlobals<ConnectionFlags & LogFlags & { readonly json?: boolean }>();
      const { json = false } = flags;
      if (isFile(log, flags))
        return dispatch.locally(async (context) => (await import('../commands/audit.ts')).auditShow(context, log, { ...flags, json }));
      return dispatch.connected(flags, async (context) =>
        (await import('../commands/audit.ts')).auditShow(context, log, { ...flags, json }),
      );
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
      new Option('--mode <mode>', 'guard: only where all is as the task left it; force: overwrite; dry-run: only report')
        .choices(modes)
        .default('guard'),
    )
    .option('--root <name=folder>', 'a folder for another root of the sandbox, which is left alone else', root)
    .addHelpText('after', '\nExit status: 0 done and verified, 1 not begun, 3 conflicts, 4 not verified, 5 an unsafe path.')
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & UndoFlags>();
      return dispatch.connected(flags, async (context) => (await import('../commands/undo.ts')).undo(context, task, flags));
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
    .action(async (tasks: readonly string[], _: unknown, command: Command) => {
      const { isFile } = await import('../evidence/log.ts');
      const flags = command.optsWithGlobals<ConnectionFlags & TraceFlags>();
      if (tasks.length > 0 && tasks.every((task) => isFile(task, flags)))
        return dispatch.locally(async (context) => (await import('../commands/trace.ts')).traceFiles(context, tasks, flags));
      return dispatch.connected(flags, async (context) => (await import('../commands/trace.ts')).trace(context, tasks, flags));
    });
}

/** Commands about what tasks leave behind. */
export function addEvidence(program: Command, dispatch: Dispatch): void {
  addAudit(program, dispatch);
  addTrace(program, dispatch);
  addUndo(program, dispatch);
  fromStore(program.command('diff <task>').alias('patch'))
    .description('print what the task changed, for patch -p1 and git apply')
    .action((task: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionFlags & ArtifactFlags>();
      return dispatch.connected(flags, async (context) => (await import('../commands/diff.ts')).diff(context, task, flags));
    });
}

/** The rewriting of manifests. */
export function addMigrate(program: Command, dispatch: Dispatch): void {
  program
    .command('migrate <file...>')
    .description('rewrite manifests to the API of this version, and print what changed')
    .option('--dry-run', 'print only')
    .action((files: readonly string[], flags: MigrateFlags) =>
      dispatch.locally(async (context) => (await import('../commands/migrate.ts')).migrate(context, files, flags)),
    );
}
