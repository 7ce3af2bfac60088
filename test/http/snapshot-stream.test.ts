import { get } from 'node:http'
import t from 'tap'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { maker } from './flags.ts'
import type { Issued } from './people.ts'

type Line = { readonly result: { readonly flags: readonly { readonly key: string }[] } }
const at = (namespace: string, environment = 'default') =>
  `/client/v2/environments/${environment}/namespaces/${namespace}/stream`

await t.test('a streaming snapshot sends one line for each state, and nothing else', async (t) => {
  const service = await startService(t)
  const make = maker(service)
  await make.boolean('a')
  const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', {
    name: 'engine',
    namespaceKey: 'default',
  })
  const headers = { authorization: `Bearer ${json.clientToken}`, 'x-service-accept-server-version': '1.47.0' }
  let [text, isEnded] = ['', false]
  const status = await new Promise((resolve, reject) => {
    const request = get(`${service.url}${at('default')}`, { agent: false, headers }, (response) => {
      t.teardown(() => request.destroy())
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => (isEnded = true))
      resolve(response.statusCode)
    })
    request.on('error', reject)
  })
  t.equal(status, 200)
  const lines = () => text.split('\n').slice(0, -1)
  const flags = () => lines().map((line) => (JSON.parse(line) as Line).result.flags.map(({ key }) => key))
  await eventually(() => lines().length === 1, 'the present state')
  await make.boolean('b')
  await eventually(() => flags().at(-1)?.length === 2, 'the next state')
  t.strictSame(flags(), [['a'], ['a', 'b']])
  const whole = await service.request('GET', '/internal/v1/evaluation/snapshot/namespace/default', undefined, headers)
  t.strictSame((JSON.parse(lines()[1]!) as Line).result, whole.json)
  t.match((await service.request('GET', '/metrics')).text, /^rollcall_streams_open\{kind="snapshots"\} 1$/m)

  t.equal((await service.request('GET', at('default', 'production'))).status, 404)
  t.equal((await service.request('GET', at('other'), undefined, headers)).status, 403)
  await service.request('DELETE', `/auth/v1/tokens/${json.authentication.id}`)
  await eventually(() => isEnded, 'the token has ended')
  t.ok(text.endsWith('}\n'), 'the stream ends between two lines')
  t.equal((await service.request('GET', at('default'), undefined, headers)).status, 401)
})
