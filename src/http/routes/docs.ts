import type { FastifyInstance } from 'fastify'
import { refusals } from '../../base/errors.ts'
import { AnyObject, Text } from '../../contract/answer.ts'
import { named } from '../../contract/readers/input.ts'
import { asyncApi } from '../../events/reference/asyncapi.ts'
import { type Documented, type OpenApi, type Operation, openApi } from '../operations/openapi.ts'
import { type Call, route, type Spec } from '../route/route.ts'
import { ordinary } from '../route/statements.ts'
import { parametersOf } from '../wire/path.ts'
import { kept } from '../wire/send.ts'

const style = `
:root{color-scheme:light dark;--ink:light-dark(#1b1f24,#e6e8eb);--soft:light-dark(#5b6570,#9aa4af);--line:light-dark(#d9dee3,#31383f);--fill:light-dark(#f5f7f9,#171b1f)}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1,h2{line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}
details{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;background:var(--fill)}
summary{cursor:pointer;padding:.5rem .75rem}summary b{display:inline-block;min-width:4.5rem}summary span{color:var(--soft)}
details>div{padding:0 .75rem .75rem}code,pre{font:14px/1.45 ui-monospace,monospace}pre{overflow:auto;margin:.25rem 0}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .5rem;border-top:1px solid var(--line);vertical-align:top}
`

/** Headers of every HTML page: only own scripts, no frames, no referrer (api.md §11). */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const pretty = (value: object): string => {
  const text = escaped(JSON.stringify(value, null, 2))
  return `<pre>${text.replaceAll(/&quot;#\/components\/schemas\/(\w+)&quot;/g, '<a href="#$1">$1</a>')}</pre>`
}

const rows = (cells: readonly (readonly string[])[]): string =>
  cells.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')

const section = (
  method: string,
  path: string,
  { summary, parameters, requestBody, responses, security }: Operation,
): string => {
  const asked = parameters.map(({ name, in: where, schema }) => [
    `<code>${escaped(name)}</code>`,
    where,
    pretty(schema),
  ])
  const answers = Object.entries(responses).map(([status, { description }]) => [status, escaped(description)])
  const answer = responses['200']
  const rights = new Set(security.flatMap((scheme) => Object.values(scheme).flat()))
  return `<details><summary><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code> <span>${escaped(summary)}</span></summary><div>
${[...rights].map((right) => `<p>Needs <code>${escaped(right)}</code></p>`).join('')}
${asked.length > 0 ? `<table>${rows(asked)}</table>` : ''}
${requestBody ? `<h4>Body</h4>${pretty(requestBody)}` : ''}
<h4>Answers</h4><table>${rows(answers)}</table>${answer ? pretty(answer) : ''}</div></details>`
}

const errors = (): string =>
  rows(
    Object.entries(refusals).map(([reason, { status, code, sentence }]) => [
      `<code>${reason}</code>`,
      `${status} / ${code}`,
      escaped(sentence),
    ]),
  )

/** The OpenAPI document as one HTML page, without scripts and external resources. */
const docsPage = ({ info, tags, paths, components }: OpenApi): string => {
  const operations = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([method, operation]) => ({
      tag: operation.tags[0],
      html: section(method, path, operation),
    })),
  )
  const groups = tags.map(
    ({ name }) =>
      `<h2>${escaped(name)}</h2>${operations
        .filter(({ tag }) => tag === name)
        .map(({ html }) => html)
        .join('')}`,
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="${name}"><summary><code>${name}</code></summary><div>${pretty(schema)}</div></details>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(info.title)} API</title><style>${style}</style></head><body><h1>${escaped(info.title)} API</h1>
<p>${escaped(info.description)} Version ${escaped(info.version)}. The same as <a href="openapi.json">OpenAPI 3.1</a>.</p>
${groups.join('')}<h2>Schemas</h2>${schemas.join('')}<h2>Errors</h2><table><tr><th>Reason</th><th>HTTP / code</th><th>Message</th></tr>${errors()}</table></body></html>`
}

/** Returns a function that computes its value on first use. */
const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

/** Returns a route's answer with a JSON document, which is indented if the query has `pretty`. */
const documentAnswer = (document: () => object) => {
  const plain = once(() => kept(JSON.stringify(document())))
  const pretty = once(() => kept(JSON.stringify(document(), null, 2)))
  return ({ request }: Call<undefined, undefined>) => ({
    body: undefined,
    kept: named(parametersOf(request), 'pretty') ? pretty() : plain(),
  })
}

/** GET `/openapi.json`, `/asyncapi.json` and `/docs`, generated on first request from the mounted routes and the events. */
export const documentRoutes = (app: FastifyInstance, specs: readonly Spec[], documented: Documented): void => {
  const document = once(() => openApi(specs, documented))
  const page = once(() => kept(docsPage(document())))
  const shared = { ...ordinary, method: 'GET', access: { credential: 'public' }, tag: 'Operations' } as const
  route(app, {
    ...shared,
    url: '/openapi.json',
    summary: 'This service in OpenAPI 3.1',
    answer: AnyObject,
    run: documentAnswer(document),
  })
  route(app, {
    ...shared,
    url: '/asyncapi.json',
    summary: 'The events of the history in AsyncAPI 3.0',
    answer: AnyObject,
    run: documentAnswer(asyncApi),
  })
  route(app, {
    ...shared,
    url: '/docs',
    summary: 'The documentation page',
    answer: Text,
    hidden: true,
    run: () => ({ body: undefined, kept: page(), headers: pageHeaders }),
  })
}
