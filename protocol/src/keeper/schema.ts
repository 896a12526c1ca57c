// protocol, keeper: forms that several schemas share. May import environment alone.
import { Type, type TProperties } from 'typebox';

/** An object that has no other members. */
export const closed = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false });

export const ulid = (description: string) => Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$', description });

/** Hex. */
export const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** An absolute path below the root of the file system. */
export const path = Type.String({ minLength: 2, maxLength: 4096, pattern: '^/' });
