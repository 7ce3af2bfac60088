import { asking, each } from './asking.ts'
import { progress, type Row, row, times } from './measure.ts'
import { offFirstCore, startServer } from './processes.ts'

const TOKENS = Number(process.env['ROLLCALL_BENCH_TOKENS'] ?? 99_000)
/** Each token may do something in two of so many namespaces: tokens have some thousand different rights. */
const PLACES = 50
const ROUNDS = 9

/** A2: what it costs to find who may do something that few may, among many tokens, against the review of one that all may. */
export const run = () =>
  offFirstCore(async (): Promise<readonly Row[]> => {
    const server = await startServer('service', '--tokens=1', '--set=rate_limit.enabled=false')
    const { ask, end } = asking(server)
    const token = server.tokens[0]!
    const insist = async (method: string, path: string, body?: object): Promise<void> => {
      const { status, text } = await ask(method, path, token, body && JSON.stringify(body))
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`)
    }
    try {
      progress(`A2: ${TOKENS} tokens are issued`)
      for (let n = 0; n < PLACES; n++)
        await insist('POST', '/api/v1/namespaces', { key: `place-${n}`, name: `Place ${n}` })
      const roles = ['viewer', 'editor']
      const numbers = Array.from({ length: TOKENS }, (_, n) => n)
      await each(numbers, (n) => {
        const [one, other] = [n % PLACES, Math.floor(n / PLACES) % PLACES]
        const grants = [
          { namespaceKey: `place-${one}`, role: roles[n % 2]! },
          ...(one === other ? [] : [{ namespaceKey: `place-${other}`, role: 'viewer' }]),
        ]
        return insist('POST', '/auth/v1/method/token', { name: `${n}`, grants })
      })
      const asked = (namespaceKey: string, right: string) => async () =>
        insist('GET', `/audit/v1/access?right=${right}&namespaceKey=${namespaceKey}&limit=25`)
      const { few, many } = await times(ROUNDS, {
        few: asked('place-7', 'flag.update'),
        many: asked('place-7', 'self.use'),
      })
      return [
        row(
          'A2',
          `access review of ${TOKENS.toLocaleString('en')} tokens: a right that one of a hundred has / a right that more have`,
          few / many,
          { atMost: 3 },
          '',
          `${few.toFixed(1)} ms against ${many.toFixed(1)} ms`,
        ),
      ]
    } finally {
      end()
      await server.stop()
    }
  })
