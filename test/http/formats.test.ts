import t from 'tap'
import { startService } from '../start.ts'
import { refusalOf } from './people.ts'

type Operation = {
  readonly tags?: readonly string[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

await t.test('an audit route refuses a format that it does not offer', async (t) => {
  const service = await startService(t)
  const { json } = await service.request<Document>('GET', '/openapi.json')
  const routes = Object.entries(json.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      operation.tags?.includes('Audit') ? [{ path, method: method.toUpperCase(), operation }] : [],
    ),
  )
  t.ok(routes.length > 15, `${routes.length} routes`)
  let undeclared = 0
  for (const { path, method, operation } of routes) {
    const url = path.replaceAll(/\{\w+\}/g, '1')
    const declares = operation.parameters?.some(({ in: place, name }) => place === 'query' && name === 'format')
    for (const format of declares ? ['xml'] : ['xml', 'csv', 'json']) {
      const answer = await service.request(
        method,
        `${url}?right=flag.read&format=${format}`,
        method === 'POST' ? {} : undefined,
      )
      const { status, message } = refusalOf(answer)
      t.match({ status, message }, { status: 400, message: /format: unknown value/ }, `${method} ${url} ${format}`)
    }
    if (!declares) undeclared++
  }
  t.ok(undeclared > 10, `${undeclared} routes without the parameter`)
  for (const search of ['', '?format=', '?other=csv'])
    t.equal((await service.request('GET', `/audit/v1/ledger${search}`)).status, 200, search)
})
