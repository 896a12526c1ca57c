import {
  asError,
  ResourceClient,
  sleep,
  TokenSource,
  type Clock,
  type LeaderRunnable,
  type Log,
  type Transport,
  type Authorize,
} from '@agentfleet/kube';
import { fieldManagers } from '@agentfleet/protocol/api';
import { metricsAudience, operatorMetricsAudience, jwksInMemory, tokenGate, TokenRefused } from '@agentfleet/protocol/tokens';
import { resources } from '../runtime/resources.ts';
import type { OperatorContext } from '../runtime/context.ts';

/** ServiceAccount whose tokens scrapers use; the chart makes it, without any right. */
export const scraperAccount = 'agentfleet-metrics';

/** Keys of the Secret: for the operator, and for all that pools consist of. */
export const scraperKeys = { operator: 'operator', pools: 'pools' } as const;

/** Less than a fifth of the life of a token, so that one in use is never at its end. */
const refreshMs = 600_000;
const retryMs = 10_000;

interface ScraperTokensOptions {
  /** Fenced: one writes. */
  readonly transport: Transport;
  readonly namespace: string;
  /** Name of the Secret, which the chart makes without content. */
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps a Secret filled with fresh tokens: PodMonitors take theirs from a Secret and from nowhere else. */
export class ScraperTokens implements LeaderRunnable {
  readonly #options: ScraperTokensOptions;
  readonly #source: TokenSource;

  constructor(options: ScraperTokensOptions) {
    this.#options = options;
    const { transport, namespace, clock } = options;
    const client = new ResourceClient(transport, resources.serviceAccounts);
    this.#source = new TokenSource({ client, account: { namespace, name: scraperAccount }, clock });
  }

  /** Writes until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, namespace, secret } = this.#options;
    for (let again = true; again;) {
      const wait = await this.#write(signal).then(
        () => refreshMs,
        (error: unknown) => {
          if (!signal.aborted) log.warn('the tokens for scrapers were not renewed', { namespace, secret, error: asError(error).message });
          return retryMs;
        },
      );
      again = await sleep(clock, wait, signal);
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { transport, namespace, secret } = this.#options;
    const [operator, pools] = await Promise.all([operatorMetricsAudience, metricsAudience].map((audience) => this.#source.token(audience)));
    const stringData = { [scraperKeys.operator]: operator, [scraperKeys.pools]: pools };
    // The operator has no right to any other one, and to this one only where there are PodMonitors.
    const client = new ResourceClient(transport, resources.secrets);
    await client.patch({ namespace, name: secret }, { stringData }, { fieldManager: fieldManagers.operator, signal });
  }
}

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
