import { keeperErrors, type ErrorBody, type KeeperErrorCode } from '@agentfleet/protocol/keeper';

/** The keeper's refusal, with its code and cure. `status` is the HTTP status. */
export class KeeperRefusal extends Error {
  readonly code: KeeperErrorCode | 'AF_UNREADABLE';
  readonly status: number;
  readonly cure: string;
  constructor(status: number, code: KeeperErrorCode | 'AF_UNREADABLE', message: string, cure: string) {
    super(`${code}: ${message} (${cure})`);
    this.name = 'KeeperRefusal';
    this.code = code;
    this.status = status;
    this.cure = cure;
  }

  /** Reads a refusal from the body of an answer; an answer that is no ErrorBody keeps its first words. */
  static from(status: number, body: string): KeeperRefusal {
    try {
      const { error } = JSON.parse(body) as ErrorBody;
      if (typeof error.code === 'string' && error.code in keeperErrors) {
        return new KeeperRefusal(status, error.code as KeeperErrorCode, error.message, error.cure);
      }
    } catch {
      // not JSON: told below
    }
    return new KeeperRefusal(status, 'AF_UNREADABLE', `HTTP ${status}: ${body.slice(0, 200)}`, 'check that this address is a keeper');
  }
}
