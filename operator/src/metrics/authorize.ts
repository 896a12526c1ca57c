import type { Authorize, Clock } from '@agentfleet/kube';
import { jwksInMemory, operatorMetricsAudience, tokenGate, TokenRefused } from '@agentfleet/protocol/tokens';
import type { OperatorContext } from '../runtime/context.ts';

/** Lets those read the operator's metrics who have a token for them; the signing keys are those that the operator read last. */
export function authorizeReaders(tokens: OperatorContext['tokens'], metricsReaders: readonly string[], clock: Clock): Authorize {
  const getKey = jwksInMemory(() => tokens.jwks());
  return async (authorization) => {
    const config = { issuer: tokens.issuer(), callers: null, metricsReaders };
    try {
      await tokenGate({ config, getKey, clock, metricsAudience: operatorMetricsAudience })(authorization, 'Read');
      return undefined;
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      return { status: error.status, text: `token refused: ${error.message}` };
    }
  };
}
