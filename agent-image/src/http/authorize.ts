import { asError, type Authorize, type Clock, type Log } from '@agentfleet/kube';
import { gateOf, TokenRefused, type AccessConfig } from '@agentfleet/protocol/tokens';

/** Lets those read metrics who have a token for it. */
export function authorizeReaders(config: AccessConfig, clock: Clock, log: Log): Authorize {
  const gate = gateOf(config, { clock, onError: (error) => log.error('the key file cannot be read', { error: asError(error).message }) });
  return async (authorization) => {
    try {
      await gate(authorization, 'Read');
      return undefined;
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      return { status: error.status, text: `token refused: ${error.message}` };
    }
  };
}
