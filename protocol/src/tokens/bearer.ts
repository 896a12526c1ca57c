import { ChangingFile } from './changingFile.ts';
import type { WallClock } from './check.ts';

/** Gives the value of an `Authorization` header; undefined: the request goes without one. Never rejects. */
export type Bearer = () => Promise<string | undefined>;

/** The token in a projected volume, which the kubelet renews. */
export function bearerFromFile(file: string, clock: WallClock, onError: (error: unknown) => void): Bearer {
  const token = new ChangingFile(file, tokenOf, clock, onError);
  return async () => {
    const text = await token.current();
    return text === undefined ? undefined : `Bearer ${text}`;
  };
}

function tokenOf(text: string): string {
  const token = text.trim();
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw new Error('the token file holds no token');
  return token;
}
