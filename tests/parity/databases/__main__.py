import sys, time
from collections import Counter
from . import operations, modules, optimisers
t=time.time()
rows=Counter(); first={}; n=0; k0=0
most = int(sys.argv[1]) if len(sys.argv)>1 else None
for db in (optimisers, modules, operations):
  for name, op in db.entries().items():
    k0+=1
    if len(sys.argv)>2 and not name in sys.argv[2:]: continue
    t0=time.time()
    try:
      for d in db.differences(op, most):
        n+=1
        if d:
            k=(d.kind,d.form,d.message[:130]); rows[k]+=1; first.setdefault(k,d.sample)
    except Exception as e:
        import traceback; traceback.print_exc(); print('!!', name, e)
    if time.time()-t0>1.5: print('#', name, time.time()-t0, file=sys.stderr)
from .compare import KINDS
for k in sorted(rows, key=lambda k:(KINDS.index(k[0]),k[1],k[2])):
    print(f"{k[0]:<9}{k[1]}: {k[2]}  x{rows[k]}  [{first[k]}]")
print(k0, 'entries', n, 'runs', sum(rows.values()), 'differ', time.time()-t,'s', file=sys.stderr)
