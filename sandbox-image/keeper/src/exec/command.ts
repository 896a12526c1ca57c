import { execBounds, type ExecEnd, type SeenCommand, type SessionAfter, type AuditRecord } from '@agentfleet/protocol/keeper';
import { timestamp, type Clock } from '../base/clock.ts';
import { errnoOf, messageOf } from '../base/failure.ts';
import type { CommandMessage, RunnerEnd, RunnerLink, ShellAfter, StreamBytes } from '../link/index.ts';
import type { Redacting } from '@agentfleet/protocol/redact';
import { interruptedEnd, type JournalArchive } from './archive.ts';
import { LiveInput, type SendInput } from './input.ts';
import type { Journal, JournalHeader } from './journal.ts';
import { OutputEncoder, type OutputSink, Silence, RedactedOutput, type OutputTaker } from './output.ts';
import type { ExecPlan } from './plan.ts';
import type { Spill } from './spill.ts';
import { createHash } from 'node:crypto';
import { appendFile, stat, truncate, writeFile } from 'node:fs/promises';
import { readLines } from '../base/lines.ts';

export type KillReason = 'Cancelled' | 'QuotaExceeded' | 'Shutdown';

/** Everything but the sequence number: the journal gives it. */
export type EndFacts = Omit<ExecEnd, 'seq'>;

export interface CommandOptions {
  readonly plan: ExecPlan;
  readonly epoch: number;
  readonly clock: Clock;
  readonly link: RunnerLink;
  /** For a command of a session: reports the state of its shell. */
  readonly onShell: (after: ShellAfter | null) => SessionAfter | undefined;
  /** Takes secrets out of the output before anything is kept; null: the caller asked for exact bytes. */
  readonly redacting: Redacting | null;
  /** Takes them out of the commands of descendants, which the event log holds. */
  readonly redactingSeen: Redacting;
  /** The runner did not end it in time: the tools container has to go. */
  readonly onOverdue: () => void;
}

const backstopMs = 5000;

/**
 * One running command: sends it, turns the runner's messages into journal events, and determines its end. `ended`
 * resolves once, when no process of the command can be left.
 */
export class Command {
  readonly plan: ExecPlan;
  readonly epoch: number;
  readonly #options: CommandOptions;
  readonly #ended = Promise.withResolvers<EndFacts>();
  readonly #startedAt: number;
  /** Null unless its standard input is open. */
  readonly input: LiveInput | null;
  #output: OutputTaker | null = null;
  #journal: Journal | null = null;
  #spill: Spill | null = null;
  readonly #silence: Silence | null;
  #shell: ShellAfter | null = null;
  #sent = false;
  #killed: KillReason | null = null;
  #done = false;
  #stopBackstop: () => void = () => undefined;

  constructor(options: CommandOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.epoch = options.epoch;
    this.#startedAt = options.clock.monotonic();
    const { quietMs, interactive } = options.plan;
    const put: SendInput = (seq, bytes, eof) => options.link.send({ t: 'stdin', id: this.id, seq, eof }, bytes);
    this.input = interactive ? new LiveInput(this.id, options.clock, put) : null;
    const recordQuiet = (silentMs: number): void => void this.#journal?.append({ type: 'quiet', silentMs });
    this.#silence = quietMs === null ? null : new Silence(quietMs, options.clock, recordQuiet);
  }

  get id(): string {
    return this.plan.frame.id;
  }

  get ended(): Promise<EndFacts> {
    return this.#ended.promise;
  }

  /** Sends the command to the runner, unless it was cancelled or has ended before that. */
  start(journal: Journal, spill: Spill | null = null): void {
    const { clock, link } = this.#options;
    this.#journal = journal;
    this.#spill = spill;
    const sink: OutputSink = { emit: (output) => journal.append(output), overflow: (stream, bytes) => spill?.push(stream, bytes) };
    const output = new OutputEncoder(sink, clock, execBounds.outputLimitBytes);
    const { redacting } = this.#options;
    this.#output = redacting === null ? output : new RedactedOutput(output, redacting, clock);
    if (this.#done) return;
    if (this.#killed !== null) return this.#end({ ...this.#nothing(), killed: this.#killed });
    if (!link.state.connected) return this.lost();
    this.#sent = true;
    link.send(this.plan.frame, this.plan.stdin);
    this.#armBackstop(this.plan.frame.timeoutMs + execBounds.graceMs + backstopMs);
  }

  kill(reason: KillReason): void {
    if (this.#killed !== null || this.#done) return;
    this.#killed = reason;
    if (!this.#sent) return;
    this.#options.link.send({ t: 'kill', id: this.id, reason });
    this.#armBackstop(execBounds.graceMs + backstopMs);
  }

  /** A message about this command. A returned promise asks the link to wait. */
  receive(message: CommandMessage): Promise<void> | undefined {
    if (this.#done) return undefined;
    if (message.t === 'out' || message.t === 'start') this.#silence?.heard();
    if (message.t === 'out') return this.#output?.push(message.stream, message.body);
    if (message.t === 'start') {
      return this.#journal?.append({ type: 'start', execId: this.id, pid: message.pid, at: timestamp(this.#options.clock) });
    }
    if (message.t === 'stdin') this.input?.answered(message.seq, message.code);
    else if (message.t === 'end') this.#end(this.#facts(message));
    else this.#end({ ...this.#nothing(), error: { code: message.code, message: message.message } });
    return undefined;
  }

  resize(rows: number, columns: number): void {
    if (this.#sent && !this.#done) this.#options.link.send({ t: 'resize', id: this.id, rows, columns });
  }

  interrupt(): void {
    if (this.#sent && !this.#done) this.#options.link.send({ t: 'interrupt', id: this.id });
  }

  refuse(code: string, message: string): void {
    this.#end({ ...this.#nothing(), exitCode: 126, error: { code, message } });
  }

  /** The tools container is gone, or the link to it. */
  lost(): void {
    this.#end(interruptedEnd('ToolsLost', this.#elapsed()));
  }

  /** Writes held characters and adds the facts that only the keeper has. */
  async close(facts: EndFacts): Promise<EndFacts> {
    await this.#output?.finish();
    const dropped = add(add(facts.dropped, this.#output?.dropped), this.#journal?.lostBytes);
    const spilled = (await this.#spill?.finish()) ?? null;
    const redacted = this.#options.redacting?.counts ?? null;
    const whole = { ...facts, dropped, ...(spilled !== null && { spill: spilled }), ...(redacted !== null && { redacted }) };
    const fault = this.#journal?.fault ?? null;
    if (fault === null) return whole;
    const error = { code: errnoOf(fault) ?? 'EIO', message: `the journal took no more output: ${messageOf(fault)}` };
    return { ...whole, error };
  }

  #armBackstop(ms: number): void {
    this.#stopBackstop();
    this.#stopBackstop = this.#options.clock.after(ms, this.#options.onOverdue);
  }

  #end(facts: EndFacts): void {
    if (this.#done) return;
    this.#done = true;
    this.#silence?.end();
    this.#stopBackstop();
    this.input?.close();
    const session = this.#options.onShell(this.#shell);
    this.#ended.resolve(session === undefined ? facts : { ...facts, session });
  }

  #facts(end: RunnerEnd): EndFacts {
    const { t: _t, id: _id, session = null, commands, moreCommands, ...facts } = end;
    this.#shell = session;
    const seen = commands === undefined ? {} : keptCommands(commands, moreCommands, this.#options.redactingSeen);
    return { type: 'end', ...facts, ...seen };
  }

  #nothing(): EndFacts {
    const { interrupted: _interrupted, ...facts } = interruptedEnd('ToolsLost', this.#elapsed());
    return facts;
  }

  #elapsed(): number {
    return Math.round(this.#options.clock.monotonic() - this.#startedAt);
  }
}

/** Selects what is kept of the commands of descendants: secrets are redacted in the whole text before it is cut. */
function keptCommands(
  commands: readonly SeenCommand[],
  more: number,
  redacting: Redacting,
): Required<Pick<ExecEnd, 'commands' | 'moreCommands'>> {
  const kept: SeenCommand[] = [];
  let room: number = execBounds.seenBytes;
  for (const command of commands) {
    const cut = { ...command, argv: cutWords(redacting.value(command.argv), execBounds.seenChars) };
    const bytes = Buffer.byteLength(JSON.stringify(cut));
    if (kept.length === execBounds.seenCommands || bytes > room) continue;
    room -= bytes;
    kept.push(cut);
  }
  return { commands: kept, moreCommands: more + commands.length - kept.length };
}

function cutWords(words: readonly string[], most: number): readonly string[] {
  const kept: string[] = [];
  let left = most;
  for (const word of words) {
    if (left <= 0) break;
    kept.push(word.length <= left ? word : `${word.slice(0, left).toWellFormed()}…`);
    left -= word.length + 1;
  }
  return kept;
}

function add(a: StreamBytes, b: StreamBytes | undefined): StreamBytes {
  return { stdout: a.stdout + (b?.stdout ?? 0), stderr: a.stderr + (b?.stderr ?? 0) };
}

/**
 * Collects, record by record, the commands whose intent is in the log and whose end is not, or whose journal is not as
 * their end left it: the log is synced with each intent, a journal never, so that a power failure can take it.
 */
export class UnfinishedExecs {
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #open = new Map<string, JournalHeader>();
  readonly #lost = new Map<string, JournalHeader>();
  #toolsConnected = false;

  /** `sizes`: bytes of the journals on disk, by id. */
  constructor(sizes: ReadonlyMap<string, number>) {
    this.#sizes = sizes;
  }

  /** Whether a runner was connected: its commands and sessions may outlive a dead keeper until it dials again. */
  get toolsConnected(): boolean {
    return this.#toolsConnected;
  }

  add(record: AuditRecord): void {
    if (record.type === 'ToolsConnected') this.#toolsConnected = true;
    // The journals of an adopted log stayed where the commands ran.
    if (record.type === 'Adopted') this.#lost.clear();
    const { execId, requestDigest, journalBytes } = record.body;
    if (typeof execId !== 'string') return;
    if (record.type === 'ExecEnded') this.#end(execId, journalBytes);
    // A journal that was cut is synced, and shorter.
    if (record.type === 'OutputCut') this.#lost.delete(execId);
    if (record.type !== 'ExecRequested' || typeof requestDigest !== 'string') return;
    this.#open.set(execId, { type: 'request', execId, requestDigest, epoch: record.epoch, at: record.at });
  }

  get all(): readonly JournalHeader[] {
    return [...this.#open.values(), ...this.#lost.values()];
  }

  #end(execId: string, journalBytes: unknown): void {
    const header = this.#open.get(execId) ?? this.#lost.get(execId);
    this.#open.delete(execId);
    this.#lost.delete(execId);
    if (header === undefined || typeof journalBytes !== 'number' || this.#sizes.get(execId) === journalBytes) return;
    this.#lost.set(execId, header);
  }
}

/**
 * Ends a command that a previous keeper left open, or whose journal is lost. A journal without an end gets one with `KeeperRestarted`: the
 * effects are unknown. A journal that never reached the disk is created, so that the id is taken and a repeated request
 * replays this end. The runner kills all commands when the link is lost, and dials when none is left; until then the
 * gate is shut.
 *
 * @returns the body of the `ExecEnded` record that the log still lacks
 */
export async function endOrphan(archive: JournalArchive, header: JournalHeader) {
  const file = archive.path(header.execId);
  const { lines, end, last } = await readWhole(file);
  const interrupted = last?.startsWith('{"type":"end"') !== true;
  if (lines === 0) await writeFile(file, `${JSON.stringify(header)}\n`, { mode: 0o600 });
  else await truncate(file, end);
  const event = { ...interruptedEnd('KeeperRestarted'), seq: Math.max(lines, 1) };
  if (interrupted) await appendFile(file, `${JSON.stringify(event)}\n`);
  const hash = createHash('sha256');
  for await (const line of readLines(file)) hash.update(line.bytes).update('\n');
  const { size } = await stat(file);
  const how = interrupted ? { exitCode: null, interrupted: 'KeeperRestarted' } : { recovered: true };
  return { execId: header.execId, ...how, journalSha256: hash.digest('hex'), journalBytes: size };
}

/** Whole lines of a file, where they end, and the last of them; a missing file has none. */
async function readWhole(file: string): Promise<{ readonly lines: number; readonly end: number; readonly last: string | null }> {
  let lines = 0;
  let end = 0;
  let last: string | null = null;
  try {
    for await (const line of readLines(file)) {
      if (!line.complete) break;
      lines += 1;
      end = line.offset + line.bytes.length + 1;
      last = line.bytes.subarray(0, 64).toString('utf8');
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
  return { lines, end, last };
}
