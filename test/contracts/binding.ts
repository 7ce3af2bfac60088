import type { Test } from 'tap'
import type { Binding } from '../../src/events/binding.ts'

/** A store of keys that can be opened, closed and opened again, with the binding beside them. */
export type BindingStore = {
  readonly open: () => Promise<{ readonly binding: Binding; readonly close: () => Promise<void> }>
}

/** What every Binding promises. */
export const bindingContract = (t: Test, make: (t: Test) => Promise<BindingStore>): void => {
  void t.test('it is not there, is written once, and stays as it was written', async (t) => {
    const store = await make(t)
    let { binding, close } = await store.open()
    t.equal(await binding.read(), undefined)
    const [mine, other] = [
      { event: 'a', position: 2n ** 40n },
      { event: 'b', position: 7n },
    ]
    t.strictSame(await binding.write(mine), mine)
    t.strictSame(await binding.write(other), mine, 'who comes later is told what stands')
    t.strictSame(await binding.read(), mine)
    await close()
    ;({ binding, close } = await store.open())
    t.strictSame(await binding.read(), mine, 'after a restart too')
    await close()
  })
}
