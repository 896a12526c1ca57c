import type { SecretsRequest } from '../keeper/index.ts';

/** Values that the worker declared, in the forms in which they appear. In memory only: never logged, never written. */
export class DeclaredSecrets {
  #texts: readonly string[] = [];
  #bytes: readonly string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** As they stand in texts. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** As they stand in bytes, read as latin1. */
  get bytes(): readonly string[] {
    return this.#bytes;
  }

  /** Takes the place of all that were declared before. */
  replace(secrets: SecretsRequest['secrets']): void {
    this.#count = secrets.length;
    this.#texts = [...new Set(secrets.flatMap(({ value }) => formsOf(value)))].sort((a, b) => b.length - a.length);
    this.#bytes = this.#texts.map((text) => Buffer.from(text, 'utf8').toString('latin1'));
  }
}

/** Plain, in a URL, in JSON, in base 64. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  return [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}
