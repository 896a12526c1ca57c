// protocol, src: schema of an object whose members are all known. Imports TypeBox alone.
import { Type, type TObject, type TObjectOptions, type TProperties } from 'typebox';

/** An object with these members and no others. */
export function closed<Members extends TProperties>(members: Members, options: TObjectOptions = {}): TObject<Members> {
  return Type.Object(members, { additionalProperties: false, ...options });
}
