const dataUrl = /^data:[^,]{0,256};base64,/i;
const base64 = /^[\w+/=\s-]*$/;
/** Names of members by which a server finds what is not in the request. */
const outside = /(?:ur[il]|link|file|attachment|document)(?:_?id)?s?$/i;

/** Reports whether a value is a data URL in base64, so that reading it fetches nothing. */
export function isDataUrl(value: unknown): value is string {
  return typeof value === 'string' && dataUrl.test(value);
}

/** Reports whether a value is bytes: base64, or a data URL of it. Some servers fetch a URL that stands in their place. */
export function isBytes(value: unknown): value is string {
  return typeof value === 'string' && (dataUrl.test(value) || base64.test(value));
}

/** Reports whether a member holds an address or a file's id, at any depth: a server may fetch it. */
export function refersOutside(name: string, value: unknown): boolean {
  return refers(value, outside.test(name));
}

function refers(value: unknown, isNamed: boolean): boolean {
  if (typeof value === 'string') return isNamed && !dataUrl.test(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((each) => refers(each, isNamed));
  return Object.entries(value).some(([name, inner]) => refers(inner, isNamed || outside.test(name)));
}
