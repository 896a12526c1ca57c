import { keeperErrors, type ErrorBody, type KeeperErrorCode } from '@agentfleet/protocol/keeper';

/** Faults of an answer itself, independent of its content. */
const answerFaults = {
  AF_UNREADABLE: 'check that this address is a keeper',
  AF_ANSWER_TOO_LARGE: 'replace the sandbox: what answers is no keeper of this version',
  AF_ANSWER_LATE: 'replace the sandbox: its keeper does not end what it began',
  AF_ANSWER_MALFORMED: 'replace the sandbox: what answers is no keeper of this version',
} as const;
type AnswerFault = keyof typeof answerFaults;

/** Characters of a refusal's words; those of a hostile keeper end in logs and conditions. */
const mostCharacters = 4096;

/** The keeper's refusal, with its code and cure, or the client's own refusal of an answer. `status` is the HTTP status. */
export class KeeperRefusal extends Error {
  readonly code: KeeperErrorCode | AnswerFault;
  readonly status: number;
  readonly cure: string;
  constructor(status: number, code: KeeperErrorCode | AnswerFault, message: string, cure: string) {
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
        const [message, cure] = [error.message, error.cure].map((words: unknown) => String(words).slice(0, mostCharacters));
        return new KeeperRefusal(status, error.code as KeeperErrorCode, message ?? '', cure ?? '');
      }
    } catch {
      // not JSON: reported below
    }
    return new KeeperRefusal(status, 'AF_UNREADABLE', `HTTP ${status}: ${body.slice(0, 200)}`, answerFaults.AF_UNREADABLE);
  }

  /** Our own no to an answer. */
  static ofAnswer(code: AnswerFault, message: string): KeeperRefusal {
    return new KeeperRefusal(200, code, message, answerFaults[code]);
  }
}
