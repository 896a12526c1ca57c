/**
 * Takes secrets out of what leaves the keeper, and of what leaves a gateway for a model: by their shapes, by declared values, by entropy. Knows texts and bytes,
 * nothing of HTTP or of files.
 * May import the layers right of `redact` in docs/architecture.md.
 */
export { hideKeyLines } from './key.ts';
export { Redacting, Redaction, type OnRedacted, Redactor, type Tally } from './redaction.ts';
