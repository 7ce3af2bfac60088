import t from 'tap'
import { bindingContract } from '../../contracts/binding.ts'
import { keysContract } from '../../contracts/keys.ts'
import { portOf, storeOf } from './store.ts'

void t.test('Keys', async (t) => keysContract(t, (t) => portOf(t, 'keys')))
void t.test('Binding', async (t) => bindingContract(t, storeOf))
