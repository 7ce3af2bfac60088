import type { FastifyReply } from 'fastify'
import t from 'tap'
import { byOrder, pageOf, pageTokens } from '../../src/http/lists/paging.ts'

const items = Array.from({ length: 100 }, (_, n) => ({ doc: { order: String(n).padStart(3, '0') } }))
/** Request with an unlimited answer. */
const of = {
  request: { room: { weight: () => Number.POSITIVE_INFINITY } } as never,
  reply: {} as FastifyReply,
}
const query = { limit: 0, offset: 0, pageToken: '' }

await t.test('a page that ends early reads few items beyond its last one', async (t) => {
  let shown = 0
  const show = async ({ doc }: (typeof items)[number]) => {
    shown++
    return { order: doc.order, text: 'x'.repeat(1_000) }
  }
  const service = { pageTokens: pageTokens(Buffer.alloc(32)), settings: { mostBytes: 5_000 } }
  const page = await pageOf(of, service, ['list'], items, query, byOrder, {
    names: ['items'],
    show,
    load: (part) => part,
  })
  const { items: found } = JSON.parse(page.json!) as { readonly items: readonly { readonly order: string }[] }
  t.strictSame(
    found.map(({ order }) => order),
    ['000', '001', '002', '003'],
  )
  t.ok(shown <= 8, `${shown} made`)
})

await t.test('items that cannot be read are left out of a page', async (t) => {
  const service = { pageTokens: pageTokens(Buffer.alloc(32)), settings: { mostBytes: 1e6 } }
  const page = await pageOf(of, service, ['list'], items, query, byOrder, {
    names: ['items'],
    show: ({ doc }: (typeof items)[number]) => doc.order,
    load: async (part) => part.slice(0, 30).map((item) => (Number(item.doc.order) % 9 === 0 ? undefined : item)),
  })
  const { items: found } = JSON.parse(page.json!) as { readonly items: readonly string[] }
  t.strictSame(
    found,
    items.map(({ doc }) => doc.order).filter((order) => Number(order) % 9 !== 0),
  )
})
