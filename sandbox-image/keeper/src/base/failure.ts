import { keeperErrors, type ErrorBody, type KeeperErrorCode } from '@agentfleet/protocol/keeper';

/** A refusal with a code of the contract. `message` names the fault and the place. */
export class KeeperError extends Error {
  readonly code: KeeperErrorCode;
  readonly cure: string;

  constructor(code: KeeperErrorCode, message: string, options?: { readonly cure?: string; readonly cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'KeeperError';
    this.code = code;
    this.cure = options?.cure ?? keeperErrors[code].cure;
  }

  get status(): number {
    return keeperErrors[this.code].status;
  }

  get body(): ErrorBody {
    return { error: { code: this.code, message: this.message, cure: this.cure } };
  }
}

function isKeeperCode(code: unknown): code is KeeperErrorCode {
  return typeof code === 'string' && Object.hasOwn(keeperErrors, code);
}

/** Returns the errno name of a system error (`ENOENT`), or null. */
export function errnoOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : null;
}

/** True when the disk or a disk quota is exhausted. */
export function isDiskFull(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Any thrown value as a coded refusal. Errors of the snapshot engine carry codes of the same
 * catalogue; a full disk is `AF_STORE_FULL`; everything unexpected is `AF_INTERNAL` without details.
 */
export function asKeeperError(error: unknown): KeeperError {
  if (error instanceof KeeperError) return error;
  if (error instanceof Error && 'code' in error && 'cure' in error && typeof error.cure === 'string') {
    const code = isKeeperCode(error.code) ? error.code : 'AF_INTERNAL';
    return new KeeperError(code, error.message, { cure: error.cure, cause: error });
  }
  if (isDiskFull(error)) return new KeeperError('AF_STORE_FULL', `the disk is full: ${messageOf(error)}`, { cause: error });
  return new KeeperError('AF_INTERNAL', 'the keeper failed on this request', { cause: error });
}
