// protocol, keeper: forms that several schemas share. May import environment alone.
import { Type } from 'typebox';

export const ulid = (description: string) => Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$', description });

/** Hex. */
export const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** An absolute path below the root of the file system. */
export const path = Type.String({ minLength: 2, maxLength: 4096, pattern: '^/' });
