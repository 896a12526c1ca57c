import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep, type Clock } from '@agentfleet/kube';
import type { AgentTask, Delivered } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure, throwIfSuperseded } from '../base/failure.ts';
import { shortened } from '../base/text.ts';
import { openLocalProxy, type Dialer } from '../egress/index.ts';
import { credentialFor, fetchCommit, openGit, type Git } from '../workspace/index.ts';
import type { ChangedFile, ReadParts } from './changes.ts';
import { writeCommit } from './commit.ts';
import { bodyOf, branchMoved, branchOf, decideBranch, leftOutWords, standing, titleOf, trailerOf, type Story } from './decide.ts';
import { RateLimited, withPullRequests, type ForgeOptions } from './forges/index.ts';
import { opened, pushed, type DeliveryReader, type JournalOptions } from './journal.ts';

/** A proved result, and its description. */
export interface DeliveryOrder {
  readonly task: AgentTask;
  readonly attempt: number;
  readonly files: readonly ChangedFile[];
  readonly answer?: string | undefined;
  readonly checks: Story['checks'];
}

export interface DeliveryPorts extends Omit<JournalOptions, 'attempt'> {
  /** Contents of the result's snapshot. */
  readonly read: ReadParts;
  readonly before: Pick<DeliveryReader, 'base' | 'pushed' | 'pullRequest'>;
  readonly credentials: PoolBrief['credentials'];
  /** The only way to the server and its API. */
  readonly dialer: Dialer;
  readonly scratch: string;
  /** Authorities to trust instead of the system's: the PEM file, for git, and its text. */
  readonly authorities?: { readonly file: string; readonly pem: string } | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
  readonly fetch?: ForgeOptions['fetch'];
}

const pausesMs = [1000, 5000, 15_000] as const;
/** Longest pause that a server may ask for: the clock of the task goes on. */
const longestPauseMs = 300_000;
const gitMs = 300_000;
const maxMessage = 512;

/**
 * Delivers a result to the destinations of spec.output. Every outcome is a value, so that no server spoils a good
 * result; a second run after a kill finds what exists and creates nothing twice.
 *
 * @throws the signal's reason; Superseded
 */
export async function deliver(order: DeliveryOrder, ports: DeliveryPorts): Promise<Delivered> {
  const { clock, signal } = ports;
  const at = ports.before.pushed[0]?.at ?? Math.floor(clock.now() / 1000);
  const so = new Delivery(order, ports, at);
  for (let tries = 0; ; tries += 1) {
    try {
      await so.run();
      return so.reached;
    } catch (error) {
      signal.throwIfAborted();
      throwIfSuperseded(error);
      const usual = pausesMs[tries];
      const failure = error instanceof AttemptFailure ? error : unexpected(error);
      if (failure.failureClass !== 'Infrastructure' || usual === undefined)
        return { ...so.reached, reason: failure.reason, message: shortened(failure.message, maxMessage) };
      const pause = Math.max(usual, failure instanceof RateLimited ? Math.min(failure.retryAfterMs, longestPauseMs) : 0);
      ports.say(`delivering again in ${Math.ceil(pause / 1000)} s: ${failure.message}`);
      await sleep(clock, pause, signal);
    }
  }
}

function unexpected(error: unknown): AttemptFailure {
  const message = `the delivery failed: ${error instanceof Error ? error.message : String(error)}; see the log of the worker`;
  return new AttemptFailure('Infrastructure', 'UnexpectedError', message, { cause: error });
}

interface Refs {
  /** Commit of the branch of the task; null: it is not there. */
  readonly branch: string | null;
  /** Target branch of a pull request; undefined: the repository has no known branch. */
  readonly into: string | undefined;
}

class Delivery {
  readonly #order: DeliveryOrder;
  readonly #ports: DeliveryPorts;
  readonly #at: number;
  readonly #ours: Set<string>;
  readonly #branch: string;
  #leftOut: readonly string[] = [];
  reached: Delivered;

  constructor(order: DeliveryOrder, ports: DeliveryPorts, at: number) {
    const { name, uid = '' } = order.task.metadata;
    this.#order = order;
    this.#ports = ports;
    this.#at = at;
    this.#ours = new Set(ports.before.pushed.map(({ commit }) => commit));
    this.#branch = order.task.spec.output?.git.branch ?? branchOf(name, uid);
    this.reached = { branch: this.#branch };
  }

  async run(): Promise<void> {
    const { workspace, output } = this.#order.task.spec;
    if (workspace.type !== 'Git' || output === undefined) throw new Error('there is no repository to deliver to');
    const { clock, signal } = this.#ports;
    const scratch = await mkdtemp(join(this.#ports.scratch, 'delivery-'));
    const proxy = await openLocalProxy(this.#ports.dialer, { clock, signal });
    try {
      const { url, ref } = workspace.git;
      const asked = { url, credential: this.#credential, field: 'spec.output.git.credential' };
      const credential = await credentialFor(asked, this.#ports.credentials);
      const git = await openGit(url, {
        program: 'git',
        scratch,
        proxy,
        clock,
        signal,
        limitBytes: 2 * 1024 ** 3,
        timeoutMs: gitMs,
        ...(this.#ports.authorities !== undefined && { authorities: this.#ports.authorities.file }),
        ...(credential !== undefined && { credential }),
      });
      const commit = await this.#commit(git, workspace.git.subPath);
      const refs = await this.#refs(git, ref);
      await this.#push(git, commit, refs);
      if (output.git.pullRequest !== undefined) await this.#pullRequest(url, refs.into);
    } finally {
      await proxy.close();
      await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  get #recording(): JournalOptions {
    return { ...this.#ports, attempt: this.#order.attempt };
  }

  get #credential(): string | undefined {
    const { workspace, output } = this.#order.task.spec;
    return output?.git.credential ?? (workspace.type === 'Git' ? workspace.git.credential : undefined);
  }

  get #base(): string {
    const { base } = this.#ports.before;
    if (base !== undefined) return base;
    const why = 'the log does not say which commit the workspace was: it was imported by an older worker';
    throw new AttemptFailure('InvalidInput', 'BaseUnknown', `${why}; apply the artifact change.patch by hand`);
  }

  async #commit(git: Git, subPath: string | undefined): Promise<string> {
    const { task, files } = this.#order;
    this.#ports.say('delivering: writing the commit');
    const base = this.#base;
    await fetchCommit(git, { url: git.url, ref: base, depth: 1 });
    const { name, namespace = '', uid = '' } = task.metadata;
    const message = `${this.#title}\n\nAgentFleet-Task: ${namespace}/${name}\n${trailerOf(uid)}\n`;
    const { commit, leftOut } = await writeCommit(git, { base, subPath, message, at: this.#at, files, read: this.#ports.read });
    const without = leftOut.length === 0 ? undefined : leftOutWords(leftOut);
    this.#leftOut = leftOut;
    if (without !== undefined) this.reached = { ...this.reached, message: shortened(without, maxMessage) };
    if (commit !== null) return commit;
    const why = 'the result changes no file that the repository would hold; nothing was pushed';
    throw new AttemptFailure('InvalidInput', 'NothingToDeliver', without === undefined ? why : `${why}; ${without}`);
  }

  get #title(): string {
    const { output, goal } = this.#order.task.spec;
    return titleOf(output?.git.pullRequest?.title, goal);
  }

  async #refs(git: Git, ref: string): Promise<Refs> {
    const [own, wanted] = [`refs/heads/${this.#branch}`, `refs/heads/${ref.replace(/^refs\/heads\//, '')}`];
    const answer = (await git.run(['ls-remote', '--quiet', '--symref', git.url, 'HEAD', own, wanted])).toString('utf8');
    const lines = answer.split('\n').map((line) => line.split('\t'));
    const find = (name: string): string | undefined =>
      lines.find(([value, at]) => at === name && value?.startsWith('ref: ') === false)?.[0];
    const head = lines.find(([value, at]) => at === 'HEAD' && value?.startsWith('ref: refs/heads/'))?.[0]?.slice('ref: refs/heads/'.length);
    return { branch: find(own) ?? null, into: find(wanted) === undefined ? head : wanted.slice('refs/heads/'.length) };
  }

  async #push(git: Git, commit: string, { branch: remote }: Refs): Promise<void> {
    const branch = this.#branch;
    const decision = decideBranch(branch, { remote, commit, ours: this.#ours });
    if (decision.kind === 'Push') {
      if (decision.lease !== '') await this.#assertOwn(git, decision.lease);
      this.#ports.say(`delivering: pushing branch ${branch}`);
      const name = `refs/heads/${branch}`;
      const args = ['push', '--quiet', '--no-verify', `--force-with-lease=${name}:${decision.lease}`, git.url, `${commit}:${name}`];
      this.#ours.add(commit);
      await pushed(this.#recording, git.url, { branch, commit, base: this.#base, at: this.#at }, async () => {
        await git.run(args, { cwd: git.folder });
      });
    }
    this.reached = { ...this.reached, commit };
  }

  /**
   * Before a branch is overwritten its commit itself has to name the task: what the log of a sandbox says was pushed can be written by all
   * who may run programs in its pod, and the credential is the pool's.
   */
  async #assertOwn(git: Git, commit: string): Promise<void> {
    await fetchCommit(git, { url: git.url, ref: commit, depth: 1 });
    const text = (await git.run(['cat-file', 'commit', commit], { cwd: git.folder })).toString('utf8');
    if (!text.split('\n').includes(trailerOf(this.#order.task.metadata.uid ?? ''))) throw branchMoved(this.#branch, commit);
  }

  async #pullRequest(url: string, into: string | undefined): Promise<void> {
    const { before, authorities, say } = this.#ports;
    if (before.pullRequest !== undefined) return this.#opened(before.pullRequest);
    if (into === undefined) {
      const why = 'neither spec.workspace.git.ref nor HEAD of the repository is a branch that a pull request could go into';
      throw new AttemptFailure('InvalidInput', 'PullRequestRefused', `${why}; the branch is pushed: open the pull request by hand`);
    }
    const { task, attempt, answer, checks } = this.#order;
    const { name, namespace = '', uid = '' } = task.metadata;
    const { goal, output } = task.spec;
    say('delivering: opening the pull request');
    const { forge } = output?.git.pullRequest ?? {};
    const options = { ...this.#ports, url, credential: this.#credential, forge, authorities: authorities?.pem };
    await withPullRequests(options, async (pullRequests) => {
      const find = async () => standing(await pullRequests.list(this.#branch), uid);
      const found = await find();
      const story = {
        task: `${namespace}/${name}`,
        uid,
        attempt,
        goal,
        checks,
        leftOut: this.#leftOut,
        ...(answer !== undefined && { answer }),
      };
      const order = { title: this.#title, body: bodyOf(story), head: this.#branch, into };
      // A server that was too slow to answer may have opened it meanwhile, and refuses a second one.
      const again = async (refused: unknown): Promise<string> => (await find().catch(() => undefined))?.url ?? Promise.reject(refused);
      const open = async (): Promise<string> => found?.url ?? (await pullRequests.open(order).catch(again));
      this.#opened(await opened(this.#recording, url, this.#branch, open));
    });
  }

  #opened(pullRequest: string): void {
    this.reached = { ...this.reached, pullRequest };
  }
}
