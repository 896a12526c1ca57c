import { readFile } from 'node:fs/promises';
import { epochHeader } from '@agentfleet/protocol/keeper';
import { Serial } from '@agentfleet/protocol/serial';
import { KeeperError } from '../base/failure.ts';
import { ifThere, replaceFile } from '../base/stored.ts';
import { type RefusalReason, TokenRefused, type TokenRules, checkToken } from '@agentfleet/protocol/tokens';

/**
 * The fence between assignments. The highest epoch ever seen is on disk before a request of that epoch acts; a caller
 * with a lower one is a worker that was replaced without noticing.
 */
export class EpochFence {
  readonly #file: string;
  #current: number;
  readonly #raising = new Serial();
  /** The epoch of which something may still run, because its end failed. */
  #unended: number | null = null;

  private constructor(file: string, current: number) {
    this.#file = file;
    this.#current = current;
  }

  static async open(file: string): Promise<EpochFence> {
    return new EpochFence(file, await readEpoch(file));
  }

  get current(): number {
    return this.#current;
  }

  /**
   * Admits a changing request. A higher epoch is persisted, then `onRaised` ends what older epochs left running, then
   * this returns. Nothing is admitted while that fails; each request retries it.
   *
   * @throws KeeperError `AF_EPOCH_MISSING`, `AF_INVALID`, `AF_EPOCH_STALE`
   */
  async admit(header: string | undefined, onRaised: (from: number, to: number) => Promise<void>): Promise<number> {
    if (header === undefined) throw new KeeperError('AF_EPOCH_MISSING', `the request has no header ${epochHeader}`);
    const epoch = parseEpoch(header);
    // Serialized: a second request of the new epoch must not act before the first has ended the old epoch's command.
    await this.#raising.run(() => this.#raise(epoch, onRaised));
    return epoch;
  }

  /** Admits a reading request, without an epoch in the name of the current one. @throws KeeperError `AF_EPOCH_STALE` */
  check(header: string | undefined): number {
    const epoch = header === undefined ? this.#current : parseEpoch(header);
    this.assert(epoch);
    return epoch;
  }

  /** Call this right before acting: the fence may have risen since the request arrived. @throws KeeperError `AF_EPOCH_STALE` */
  assert(epoch: number): void {
    if (epoch >= this.#current) return;
    throw new KeeperError('AF_EPOCH_STALE', `epoch ${epoch} is over: this sandbox has seen epoch ${this.#current}`);
  }

  async #raise(epoch: number, onRaised: (from: number, to: number) => Promise<void>): Promise<void> {
    this.assert(epoch);
    if (epoch !== this.#current) {
      await replaceFile(this.#file, `${epoch}\n`);
      this.#unended ??= this.#current;
      this.#current = epoch;
    }
    if (this.#unended === null) return;
    await onRaised(this.#unended, epoch);
    this.#unended = null;
  }
}

function parseEpoch(header: string): number {
  const epoch = Number(header);
  if (/^[1-9]\d{0,15}$/.test(header) && Number.isSafeInteger(epoch)) return epoch;
  throw new KeeperError('AF_INVALID', `the header ${epochHeader} is not a positive integer`);
}

async function readEpoch(file: string): Promise<number> {
  const text = await ifThere(readFile(file, 'utf8'));
  if (text === null) return 0;
  const epoch = Number(text.trim());
  // A fence that cannot be read must not fall open.
  if (!/^\d+\n?$/.test(text) || !Number.isSafeInteger(epoch)) throw new Error(`${file} holds no epoch: the store is damaged`);
  return epoch;
}

/** The audience is the uid of this pod, so a token for another sandbox is refused here. */
interface KeeperTokenRules extends TokenRules {
  readonly onRefused?: (reason: RefusalReason) => void;
}

/**
 * Checks an `Authorization` header offline.
 *
 * @returns the caller's subject
 * @throws KeeperError `AF_UNAUTHENTICATED`, or `AF_FORBIDDEN` for a valid token of another subject
 */
export async function authenticate(header: string | undefined, rules: KeeperTokenRules): Promise<string> {
  try {
    return await checkToken(header, rules);
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error;
    rules.onRefused?.(error.reason);
    throw new KeeperError(error.status === 403 ? 'AF_FORBIDDEN' : 'AF_UNAUTHENTICATED', `token refused: ${error.message}`);
  }
}
