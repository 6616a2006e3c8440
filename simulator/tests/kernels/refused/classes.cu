// What is refused of classes, unions, namespaces and functions as values; key words of the message.

// refused: 'P' member 'c'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.c; }

// refused: 'P' member 'sun'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sun(); }

// refused: many arguments call
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sum(3); }

// refused: few arguments call
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; p.add(); }

// refused: object compatible 'add'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { const P p{1, 2}; p.add(1); }

// refused: many initializer values
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2, 3}; }

// refused: 'int' assigned entity 'P'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; p = 3; }

// refused: constructor 'P' values
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p(1, 2, 3); }

// refused: expression class 'P *'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P* p = 0; x[0] = p.sum(); }

// refused: expression pointer 'P'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p->sum(); }

// refused: unsupported function 'sum' used
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sum; }

// refused: nonstatic relative specific
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = P::sum(); }

// refused: operator '+' operand 'P'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p + 1; }

// refused: operator '[]' operand 'P'
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p[1]; }

// refused: appropriate operator() conversion
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p(1); }

// refused: expression bool type
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; if (p) x[0] = 1; }

// refused: nonstatic relative specific
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p{1, 2}; x[0] = P::a; }

// refused: 'this' inside nonstatic
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { x[0] = this->a; }

// refused: default class 'S'
struct S { int n; __device__ S(int k) : n(k) {} };
__global__ void k(int* x, int n) { S s; }

// refused: constructor 'S' argument
struct S { int n; __device__ S(int k) : n(k) {} };
__global__ void k(int* x, int n) { S s(1, 2); }

// refused: default class 'S'
struct S { int n; __device__ S(int k) : n(k) {} };
__global__ void k(int* x, int n) { S s[3]; }

// refused: incomplete type
struct S { int n; __device__ S(int k) : n(k) {} };
__global__ void k(int* x, int n) { S s[]; }

// refused: initializer __shared__ variable
struct S { int n; __device__ S(int k) : n(k) {} };
__global__ void k(int* x, int n) { __shared__ S s; }

// refused: 'int' used initialize 'S'
struct S { int n; __device__ explicit S(int k) : n(k) {} };
__global__ void k(int* x, int n) { S s = 3; }

// refused: 'm' nonstatic data 'S'
struct S { int n; __device__ S(int k) : m(k) {} };
__global__ void k(int* x, int n) {  }

// refused: 'n' current scope
struct S { int n; int n; };
__global__ void k(int* x, int n) {  }

// refused: 'n' current scope
struct S { int n; __device__ int n() { return 1; } };
__global__ void k(int* x, int n) {  }

// refused: 'S::f' already declared
struct S { int n; __device__ int f() { return 1; } __device__ int f() { return 2; } };
__global__ void k(int* x, int n) {  }

// refused: expression modifiable lvalue
struct S { int n; __device__ int f() const { n = 1; return n; } };
__global__ void k(int* x, int n) {  }

// refused: nonstatic relative specific
struct S { int n; __device__ static int f() { return n; } };
__global__ void k(int* x, int n) {  }

// refused: 'f' host source
struct S { int n; int f() { return n; } };
__global__ void k(int* x, int n) {  }

// refused: member 'S::n' inaccessible
class S { int n; public: __device__ int f() { return n; } };
__global__ void k(int* x, int n) { S s; x[0] = s.n; }

// refused: member 'S::f' inaccessible
class S { int n; __device__ int f() { return n; } };
__global__ void k(int* x, int n) { S s; x[0] = s.f(); }

// refused: incomplete 'S' allowed
struct S { S s; };
__global__ void k(int* x, int n) {  }

// refused: incomplete 'S' allowed
struct S;
__global__ void k(int* x, int n) { S s; }

// refused: expected identifier
struct S { int n; }
__global__ void k(int* x, int n) { S s; }

// refused: template 'B' missing
template <class T> struct B { T v; };
__global__ void k(int* x, int n) { B b; }

// refused: arguments template 'B'
template <class T> struct B { T v; };
__global__ void k(int* x, int n) { B<int, 2> b; }

// refused: arguments template 'B'
template <class T> struct B { T v; };
__global__ void k(int* x, int n) { B<3> b; }

// refused: expression class 'int'
template <class T> struct B { T v; __device__ int f() { return v.x; } };
__global__ void k(int* x, int n) { B<int> b; x[0] = b.f(); }

// refused: expression constant value
template <int N> struct B { int v[N]; };
__global__ void k(int* x, int n) { B<n> b; }

// refused: size array greater
template <int N> struct B { int v[N]; };
__global__ void k(int* x, int n) { B<0> b; }

// refused: many initializer values
union U { int i; float f; };
__global__ void k(int* x, int n) { U u = {1, 2}; }

// refused: identifier 'f' undefined
namespace a { __device__ int f() { return 1; } }
__global__ void k(int* x, int n) { x[0] = f(); }

// refused: namespace 'a' member 'g'
namespace a { __device__ int f() { return 1; } }
__global__ void k(int* x, int n) { x[0] = a::g(); }

// refused: identifier 'b' undefined
namespace a { __device__ int f() { return 1; } }
__global__ void k(int* x, int n) { x[0] = b::f(); }

// refused: identifier 'S' undefined
namespace a { struct S { int n; }; }
__global__ void k(int* x, int n) { S s; }

// refused: template 'g' argument
__device__ int f(int a) { return a; } __device__ int g(int (*h)(float)) { return h(1.0f); }
__global__ void k(int* x, int n) { x[0] = g(f); }

// refused: template 'g' argument
template <int (*F)(int)> __device__ int g(int a) { return F(a); } __device__ int f(float a) { return 1; }
__global__ void k(int* x, int n) { x[0] = g<f>(1); }

// refused: 'int (*)(int)' used initialize 'int (*)'
__device__ int f(int a) { return a; }
__global__ void k(int* x, int n) { int (*g)(int, int) = f; }

// refused: many arguments call
__device__ int f(int a) { return a; }
__global__ void k(int* x, int n) { auto g = f; x[0] = g(1, 2); }

// refused: unsupported strings
struct S { int n = "a"; };
__global__ void k(int* x, int n) { S s; }

// refused: too many parameters
struct S { __device__ int operator[](int i, int j) { return 1; } };
__global__ void k(int* x, int n) {  }

// refused: initial non-const lvalue
struct S { __device__ S& me() { return 3; } };
__global__ void k(int* x, int n) {  }

// refused: dropped binding 'int &'
struct S { int v; __device__ int& me() const { return v; } };
__global__ void k(int* x, int n) {  }

// refused: object compatible 'get'
struct S { int v; __device__ int get() { return v; } };
__device__ int f(const S& s) { return s.get(); }
__global__ void k(int* x, int n) {  }

// refused: identifier 'x' undefined
struct S { static const int n = x; };
__global__ void k(int* x, int n) {  }

// refused: expected ';'
struct S { int v; using T = int };
__global__ void k(int* x, int n) {  }

// refused: expected type specifier
using T = S;
__global__ void k(int* x, int n) {  }

// refused: unsupported structs bases (inheritance)
struct A { int n; }; struct B : A { int m; };
__global__ void k(int* x, int n) { B b; x[0] = 1; }

// refused: unsupported virtual functions
struct A { __device__ virtual int f() { return 1; } };
__global__ void k(int* x, int n) {  }

// refused: unsupported bit fields
struct A { int n : 3; };
__global__ void k(int* x, int n) {  }

// refused: unsupported struct auto references
struct A { int& r; };
__global__ void k(int* x, int n) {  }

// refused: unsupported methods without body
struct A { int n; __device__ int f(); }; __device__ int A::f() { return n; }
__global__ void k(int* x, int n) {  }

// refused: unsupported constructors your own
struct A { int n; __device__ A(const A& o) { n = o.n + 1; } __device__ A() {} };
__global__ void k(int* x, int n) { A a; A b = a; x[0] = b.n; }

// refused: unsupported destructors
struct A { int n; __device__ ~A() { n = 1; } };
__global__ void k(int* x, int n) { A a; }

// refused: unsupported friends class
struct A { int n; friend struct B; };
__global__ void k(int* x, int n) { A a; }

// refused: unsupported methods delete
struct A { int n; A() = delete; };
__global__ void k(int* x, int n) {  }

// refused: unsupported structs written some
template <class T> struct A { T v; }; template <class T> struct A<T*> { T v; };
__global__ void k(int* x, int n) {  }

// refused: unsupported templates number parameters
template <class... T> struct A { int n; };
__global__ void k(int* x, int n) {  }

// refused: unsupported pointers functions stored
__device__ int f(int a) { return a; } __device__ int (*table[2])(int) = {f, f};
__global__ void k(int* x, int n) { x[0] = table[0](1); }

// refused: unsupported pointer function changes
__device__ int f(int a) { return a; } __device__ int g(int a) { return a; }
__global__ void k(int* x, int n) { auto h = f; h = g; x[0] = h(1); }

// refused: unsupported choice between functions
__device__ int f(int a) { return a; } __device__ int g(int a) { return a; }
__global__ void k(int* x, int n) { int (*h)(int) = n ? f : g; x[0] = h(1); }

// refused: unsupported static numbers compiling
struct S { static int n; };
__global__ void k(int* x, int n) {  }

// refused: unsupported namespace defined outside
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { int P::* m = &P::a; P p{1, 2}; x[0] = p.*m; }

// refused: unsupported designated initializers
struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
__global__ void k(int* x, int n) { P p = {.a = 1, .b = 2}; x[0] = p.a; }

// refused: 'a' around referenced
__global__ void k(int* x, int n) { int a = n; auto f = [](int k) { return a + k; }; x[0] = f(1); }

// refused: expression modifiable lvalue
__global__ void k(int* x, int n) { int a = n; auto f = [=](int k) { a += k; return a; }; x[0] = f(1); }

// refused: 'b' variable around
__global__ void k(int* x, int n) { auto f = [b](int k) { return k; }; x[0] = f(1); }

// refused: 'float' conflicts previously 'int'
__global__ void k(int* x) { auto f = [](int k) { if (k) return 1; return 2.5f; }; x[0] = f(1); }

// refused: unsupported pointer lambda
__global__ void k(int* x) { int (*f)(int) = [](int k) { return k; }; }

// refused: cannot referenced
__global__ void k(int* x, int n) { struct L { __device__ int f() { return n; } }; }
