import { checkToken, TokenRefused, type RefusalReason, type TokenRules } from '@agentfleet/protocol/tokens';
import { KeeperError } from '../base/failure.ts';

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
