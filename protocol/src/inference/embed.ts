import { Type, type Static } from 'typebox';
import { RequestId, type Answered } from './wire.ts';

export const embedBounds = { maxTexts: 64, maxTextChars: 8192 } as const;

/** Body of `POST /v1/embed`. */
export const EmbedRequest = Type.Object(
  {
    requestId: RequestId,
    texts: Type.Array(Type.String({ minLength: 1, maxLength: embedBounds.maxTextChars }), { minItems: 1, maxItems: embedBounds.maxTexts }),
  },
  { additionalProperties: false },
);
export type EmbedRequest = Static<typeof EmbedRequest>;

/** Answer of `POST /v1/embed`; vectors have length 1 and stand in the order of the request. */
export interface EmbedResponse extends Answered {
  readonly dimensions: number;
  readonly vectors: readonly (readonly number[])[];
}
