/** The version of Azure's API for addresses that name none: the last one before `/openai/v1`, which has no versions. */
const azureVersion = '2024-10-21';
const deployment = /\/openai\/deployments\/[^/]+$/;

/** An address of the OpenAI chat API as requests need it. */
interface ChatAddress {
  readonly url: string;
  /** The key has a header of Azure's, not `authorization`. */
  readonly hasOwnHeader: boolean;
}

/** Returns the address of a server of the OpenAI chat API, also where that of its chat route or of a deployment of Azure is written. Pure. */
export function chatAddress(written: string): ChatAddress {
  const url = URL.parse(written);
  if (url === null) return { url: written, hasOwnHeader: false };
  url.pathname = withoutRoute(url.pathname, /\/chat\/completions$/);
  const isDeployment = deployment.test(url.pathname);
  if (isDeployment && !url.searchParams.has('api-version')) url.searchParams.set('api-version', azureVersion);
  return { url: url.href, hasOwnHeader: url.searchParams.has('api-version') };
}

/** Returns the address of a server of the Messages API, whose library adds the version and the route itself. Pure. */
export function messagesAddress(written: string): string {
  const url = URL.parse(written);
  if (url === null) return written;
  url.pathname = withoutRoute(withoutRoute(url.pathname, /\/messages$/), /\/v1$/);
  return url.href.replace(/\/$/, '');
}

const withoutRoute = (path: string, route: RegExp): string => path.replace(/\/+$/, '').replace(route, '');
