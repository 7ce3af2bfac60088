import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CookieJar } from '../wire/cookies.ts'
import type { Packed } from '../wire/reply.ts'
import { held } from '../wire/send.ts'

/** File of the web UI, as built, with its media type. */
export type UiFile = Packed & { readonly type: string }

/** The built web UI. `page` contains `BASE` at the place of the base path; `assets` are keyed by name. */
export type UiFiles = {
  readonly page: string
  readonly icon: Buffer
  readonly assets: ReadonlyMap<string, UiFile>
}

/** Placeholder of the base path in the page. */
const BASE = '%BASE%'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Headers of the page (ui.md §12.1). */
const headersOf = (https: boolean): Readonly<Record<string, string>> => ({
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy': policy,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-write=(self)',
  ...(https && { 'strict-transport-security': 'max-age=31536000' }),
})

const unbuilt = `<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="${BASE}"><title>Rollcall</title></head>
<body><h1>The web UI is not built</h1><p>Run <code>npm run build</code> where Rollcall is installed, then start it again.
The HTTP API and the command line work without it: see the <a href="docs">documentation of the API</a>.</p></body></html>`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')

/** Serves the same page at every address of the web UI; only its base path is filled in. */
export const uiPage = (
  files: UiFiles | 'unbuilt',
  { publicUrl, basePath }: { readonly publicUrl: string | undefined; readonly basePath: CookieJar['basePath'] },
) => {
  const template = files === 'unbuilt' ? unbuilt : files.page
  const headers = headersOf(publicUrl?.startsWith('https:') === true)
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const page = template.replace(BASE, () => `${escaped(basePath(request))}/`)
    const etag = createHash('sha256').update(page).digest('base64url').slice(0, 22)
    reply.headers(headers).header('etag', `"${etag}"`)
    if (held(request, etag)) void reply.code(304).send()
    else void reply.send(page)
  }
}
