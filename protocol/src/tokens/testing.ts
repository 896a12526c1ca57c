/** A cluster's signing key for tests. Never imported by production code. */
import { writeFile } from 'node:fs/promises';
import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet, type JWTPayload } from 'jose';

export const issuer = 'https://cluster.test';
export const subject = 'system:serviceaccount:fleet:worker';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

export interface TokenSpec {
  readonly audience?: string | string[];
  readonly issuer?: string;
  readonly subject?: string;
  /** Seconds since 1970. */
  readonly expires?: number;
  readonly notBefore?: number;
  readonly claims?: JWTPayload;
}

/** Signs tokens like the API server does. */
export class Signer {
  readonly kid: string;
  readonly alg: string;
  readonly #pair: Pair;

  private constructor(kid: string, alg: string, pair: Pair) {
    this.kid = kid;
    this.alg = alg;
    this.#pair = pair;
  }

  static async create(kid = 'key-1', alg = 'ES256'): Promise<Signer> {
    return new Signer(kid, alg, await generateKeyPair(alg, { extractable: true }));
  }

  async jwks(): Promise<JSONWebKeySet> {
    return { keys: [{ ...(await exportJWK(this.#pair.publicKey)), kid: this.kid, alg: this.alg, use: 'sig' }] };
  }

  async writeJwks(file: string): Promise<void> {
    await writeFile(file, JSON.stringify(await this.jwks()));
  }

  token(audience: string, spec: TokenSpec = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const jwt = new SignJWT(spec.claims ?? {})
      .setProtectedHeader({ alg: this.alg, kid: this.kid })
      .setIssuer(spec.issuer ?? issuer)
      .setSubject(spec.subject ?? subject)
      .setAudience(spec.audience ?? audience)
      .setIssuedAt(now)
      .setExpirationTime(spec.expires ?? now + 600);
    return (spec.notBefore === undefined ? jwt : jwt.setNotBefore(spec.notBefore)).sign(this.#pair.privateKey);
  }
}
