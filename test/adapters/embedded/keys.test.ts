import t from 'tap'
import { bindingContract } from '../../contracts/binding.ts'
import { keysContract } from '../../contracts/keys.ts'
import { portOf, storeOf } from './store.ts'

void t.test('the embedded store of encryption keys passes the shared tests of all such stores', async (t) =>
  keysContract(t, (t) => portOf(t, 'keys')),
)
void t.test('the record that binds encryption keys to a log passes the shared tests', async (t) =>
  bindingContract(t, storeOf),
)
