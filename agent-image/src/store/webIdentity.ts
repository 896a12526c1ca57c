import { readFile } from 'node:fs/promises';
import { EnvHttpProxyAgent, request } from 'undici';
import type { Clock } from '@agentfleet/kube';
import { StoreFailure } from './store.ts';
import { readSession, type Session } from './xml.ts';

/** Variables that the cloud's webhook sets in a pod whose account has a role. */
export interface WebIdentitySettings {
  readonly roleArn: string;
  /** Token of the account; the kubelet renews it. */
  readonly tokenFile: string;
  readonly sessionName: string;
  /** URL of the token service; default: that of AWS for the region. */
  readonly endpoint?: string;
}

/** The identity in an environment; undefined: there is none. Pure. */
export function webIdentityOf(env: Readonly<Record<string, string | undefined>>): WebIdentitySettings | undefined {
  const { AWS_ROLE_ARN: roleArn, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ENDPOINT_URL_STS: endpoint } = env;
  if (!roleArn || !tokenFile) return undefined;
  const sessionName = env['AWS_ROLE_SESSION_NAME'] || 'agentfleet';
  return { roleArn, tokenFile, sessionName, ...(endpoint ? { endpoint } : {}) };
}

/** Keys are asked for again this long before they end, ms. */
const aheadMs = 300_000;
const limitMs = 10_000;

/** Exchanges the token of a pod's account for keys (AssumeRoleWithWebIdentity), and keeps them while they hold. */
export class WebIdentity {
  readonly #settings: WebIdentitySettings;
  readonly #url: string;
  readonly #clock: Clock;
  readonly #dispatcher = new EnvHttpProxyAgent();
  #known: Session | undefined;

  constructor(settings: WebIdentitySettings, region: string, clock: Clock) {
    this.#settings = settings;
    this.#url = settings.endpoint ?? `https://sts.${region}.amazonaws.com/`;
    this.#clock = clock;
  }

  /** @throws StoreFailure `Credential` where the role is not given, `Unavailable` where the service does not answer */
  async session(): Promise<Session> {
    if (this.#known !== undefined && this.#known.expiresAt - this.#clock.now() > aheadMs) return this.#known;
    const { roleArn, tokenFile, sessionName } = this.#settings;
    const token = await readFile(tokenFile, 'utf8').catch((error: unknown) => {
      throw new StoreFailure('Credential', `the token of the account in ${tokenFile} cannot be read`, { cause: error });
    });
    const form = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      WebIdentityToken: token.trim(),
    });
    const { status, text } = await this.#post(form.toString());
    const session = status === 200 ? readSession(text) : undefined;
    if (session !== undefined) return (this.#known = session);
    const kind = status >= 500 ? 'Unavailable' : 'Credential';
    throw new StoreFailure(kind, `the role ${roleArn} was not given, status ${status}: let it trust the account of the workers`);
  }

  async #post(body: string): Promise<{ readonly status: number; readonly text: string }> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const signal = AbortSignal.timeout(limitMs);
    try {
      const answer = await request(this.#url, { method: 'POST', headers, body, signal, dispatcher: this.#dispatcher });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (error) {
      throw new StoreFailure('Unavailable', `the token service ${new URL(this.#url).host} does not answer`, { cause: error });
    }
  }
}
