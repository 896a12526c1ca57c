import { secretBounds, type SecretsRequest } from '@agentfleet/protocol/keeper';
import type { Reach } from './reach.ts';

/** Names of variables that package managers take passwords and tokens from. */
const secretName = /(auth|token|password|passwd|passphrase|secret|api_?key|private_?key)/i;

/**
 * What the environment of a command lets it know and no answer may show: values of variables that are named like secrets, and
 * passwords of addresses. Values of other lengths than a keeper can look for are left out.
 */
export function secretsOf({ environment }: Pick<Reach, 'environment'>): SecretsRequest['secrets'] {
  return Object.entries(environment)
    .flatMap(([name, value]) => [...(secretName.test(name) ? [{ name, value }] : []), ...passwordOf(name, value)])
    .filter(({ value }) => value.length >= secretBounds.minChars && value.length <= secretBounds.maxChars)
    .slice(0, secretBounds.count);
}

function passwordOf(name: string, value: string): SecretsRequest['secrets'] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  return password === '' ? [] : [{ name: `${name}.password`, value: decodeURIComponent(password) }];
}
