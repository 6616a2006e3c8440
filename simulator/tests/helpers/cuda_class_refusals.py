"""What is refused of classes, unions, namespaces and functions as values, as (source, words of the message).

`@` stands for PAIR. NVRTC refuses each source too, unless the message begins with "unsupported".
"""

from __future__ import annotations

PAIR = """struct P {
    int a; int b;
    __device__ int sum() const { return a + b; }
    __device__ void add(int k) { a += k; }
};
"""

REFUSED = [
    ("@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.c; }", "'P' has no member 'c'"),
    ("@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sun(); }", "'P' has no member 'sun'"),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sum(3); }",
        "too many arguments in function call",
    ),
    ("@__global__ void k(int* x, int n) { P p{1, 2}; p.add(); }", "too few arguments in function call"),
    (
        "@__global__ void k(int* x, int n) { const P p{1, 2}; p.add(1); }",
        "the object has type qualifiers that are not compatible with the member function 'add'",
    ),
    ("@__global__ void k(int* x, int n) { P p{1, 2, 3}; }", "too many initializer values"),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; p = 3; }",
        "a value of type 'int' cannot be assigned to an entity of type 'P'",
    ),
    ("@__global__ void k(int* x, int n) { P p(1, 2, 3); }", "no constructor of 'P' takes 3 values"),
    (
        "@__global__ void k(int* x, int n) { P* p = 0; x[0] = p.sum(); }",
        "expression must have class type, and it has type 'P *'",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p->sum(); }",
        "expression must have pointer type, and it has type 'P'",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p.sum; }",
        "unsupported: the function 'sum' is used as a value",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = P::sum(); }",
        "a nonstatic member reference must be relative to a specific object",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p + 1; }",
        "no operator '+' matches an operand of type 'P'",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p[1]; }",
        "no operator '[]' matches an operand of type 'P'",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = p(1); }",
        "call of an object of a class type without appropriate operator() or conversion functions",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; if (p) x[0] = 1; }",
        "expression must have bool type (or be convertible to bool)",
    ),
    (
        "@__global__ void k(int* x, int n) { P p{1, 2}; x[0] = P::a; }",
        "a nonstatic member reference must be relative to a specific object",
    ),
    (
        "@__global__ void k(int* x, int n) { x[0] = this->a; }",
        "'this' may only be used inside a nonstatic member function",
    ),
    (
        "struct S { int n; "
        "__device__ S(int k) : n(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) { S s; }",
        "no default constructor exists for class 'S'",
    ),
    (
        "struct S { int n; "
        "__device__ S(int k) : n(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) { S s(1, 2); }",
        "no instance of constructor 'S' matches the argument list",
    ),
    (
        "struct S { int n; "
        "__device__ S(int k) : n(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) { S s[3]; }",
        "no default constructor exists for class 'S'",
    ),
    (
        "struct S { int n; "
        "__device__ S(int k) : n(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) { __shared__ S s; }",
        "initializer not allowed for __shared__ variable",
    ),
    (
        "struct S { int n; "
        "__device__ explicit S(int k) : n(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) { S s = 3; }",
        "a value of type 'int' cannot be used to initialize an entity of type 'S'",
    ),
    (
        "struct S { int n; "
        "__device__ S(int k) : m(k) {} "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "'m' is not a nonstatic data member of class 'S'",
    ),
    (
        "struct S { int n; int n; };\n"
        "__global__ void k(int* x, int n) {  }",
        "'n' has already been declared in the current scope",
    ),
    (
        "struct S { int n; "
        "__device__ int n() { return 1; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "'n' has already been declared in the current scope",
    ),
    (
        "struct S { int n; "
        "__device__ int f() { return 1; } "
        "__device__ int f() { return 2; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "function 'S::f' has already been declared",
    ),
    (
        "struct S { int n; "
        "__device__ int f() const { n = 1; return n; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "expression must be a modifiable lvalue",
    ),
    (
        "struct S { int n; "
        "__device__ static int f() { return n; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "a nonstatic member reference must be relative to a specific object",
    ),
    (
        "struct S { int n; int f() { return n; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "'f' is a host function, and a kernel's source has none",
    ),
    (
        "class S { int n; public: __device__ int f() { return n; } "
        "};\n"
        "__global__ void k(int* x, int n) { S s; x[0] = s.n; }",
        "member 'S::n' is inaccessible",
    ),
    (
        "class S { int n; "
        "__device__ int f() { return n; } "
        "};\n"
        "__global__ void k(int* x, int n) { S s; x[0] = s.f(); }",
        "member 'S::f' is inaccessible",
    ),
    ("struct S { S s; };\n__global__ void k(int* x, int n) {  }", "incomplete type 'S' is not allowed"),
    ("struct S;\n__global__ void k(int* x, int n) { S s; }", "incomplete type 'S' is not allowed"),
    ("struct S { int n; }\n__global__ void k(int* x, int n) { S s; }", "expected an identifier"),
    (
        "template <class T> struct B { T v; };\n"
        "__global__ void k(int* x, int n) { B b; }",
        "argument list for class template 'B' is missing",
    ),
    (
        "template <class T> struct B { T v; };\n"
        "__global__ void k(int* x, int n) { B<int, 2> b; }",
        "these are no arguments for the template 'B'",
    ),
    (
        "template <class T> struct B { T v; };\n"
        "__global__ void k(int* x, int n) { B<3> b; }",
        "these are no arguments for the template 'B'",
    ),
    (
        "template <class T> struct B { T v; "
        "__device__ int f() { return v.x; } "
        "};\n"
        "__global__ void k(int* x, int n) { B<int> b; x[0] = b.f(); }",
        "expression must have class type, and it has type 'int'",
    ),
    (
        "template <int N> struct B { int v[N]; };\n"
        "__global__ void k(int* x, int n) { B<n> b; }",
        "expression must have a constant value",
    ),
    (
        "template <int N> struct B { int v[N]; };\n"
        "__global__ void k(int* x, int n) { B<0> b; }",
        "the size of an array must be greater than zero",
    ),
    (
        "union U { int i; float f; };\n"
        "__global__ void k(int* x, int n) { U u = {1, 2}; }",
        "too many initializer values",
    ),
    (
        "namespace a { __device__ int f() { return 1; } "
        "}\n"
        "__global__ void k(int* x, int n) { x[0] = f(); }",
        "identifier 'f' is undefined",
    ),
    (
        "namespace a { __device__ int f() { return 1; } "
        "}\n"
        "__global__ void k(int* x, int n) { x[0] = a::g(); }",
        "namespace 'a' has no member 'g'",
    ),
    (
        "namespace a { __device__ int f() { return 1; } "
        "}\n"
        "__global__ void k(int* x, int n) { x[0] = b::f(); }",
        "identifier 'b' is undefined",
    ),
    (
        "namespace a { struct S { int n; }; }\n"
        "__global__ void k(int* x, int n) { S s; }",
        "identifier 'S' is undefined",
    ),
    (
        "__device__ int f(int a) { return a; } "
        "__device__ int g(int (*h)(float)) { return h(1.0f); }\n"
        "__global__ void k(int* x, int n) { x[0] = g(f); }",
        "no instance of function template 'g' matches the argument list",
    ),
    (
        "template <int (*F)(int)> __device__ int g(int a) { return F(a); } "
        "__device__ int f(float a) { return 1; }\n"
        "__global__ void k(int* x, int n) { x[0] = g<f>(1); }",
        "no instance of function template 'g' matches the argument list",
    ),
    (
        "__device__ int f(int a) { return a; }\n"
        "__global__ void k(int* x, int n) { int (*g)(int, int) = f; }",
        "a value of type 'int (*)(int)' cannot be used to initialize an entity of type 'int (*)'",
    ),
    (
        "__device__ int f(int a) { return a; }\n"
        "__global__ void k(int* x, int n) { auto g = f; x[0] = g(1, 2); }",
        "too many arguments in function call",
    ),
    ('struct S { int n = "a"; };\n__global__ void k(int* x, int n) { S s; }', "unsupported: strings"),
    (
        "struct S { __device__ int operator[](int i, int j) { return 1; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "too many parameters for this operator function",
    ),
    (
        "struct S { __device__ S& me() { return 3; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "initial value of reference to non-const must be an lvalue",
    ),
    (
        "struct S { int v; "
        "__device__ int& me() const { return v; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "qualifiers dropped in binding reference of type 'int &'",
    ),
    (
        "struct S { int v; "
        "__device__ int get() { return v; } "
        "};\n"
        "__device__ int f(const S& s) { return s.get(); }\n"
        "__global__ void k(int* x, int n) {  }",
        "the object has type qualifiers that are not compatible with the member function 'get'",
    ),
    (
        "struct S { static const int n = x; };\n"
        "__global__ void k(int* x, int n) {  }",
        "identifier 'x' is undefined",
    ),
    ("struct S { int v; using T = int };\n__global__ void k(int* x, int n) {  }", "expected a ';'"),
    ("using T = S;\n__global__ void k(int* x, int n) {  }", "expected a type specifier"),
    (
        "struct A { int n; }; "
        "struct B : A { int m; };\n"
        "__global__ void k(int* x, int n) { B b; x[0] = 1; }",
        "unsupported: structs with bases (inheritance)",
    ),
    (
        "struct A { __device__ virtual int f() { return 1; } "
        "};\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: virtual functions",
    ),
    ("struct A { int n : 3; };\n__global__ void k(int* x, int n) {  }", "unsupported: bit fields"),
    (
        "struct A { int& r; };\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: members of a struct that are auto or references",
    ),
    (
        "struct A { int n; "
        "__device__ int f(); }; "
        "__device__ int A::f() { return n; }\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: methods without a body",
    ),
    (
        "struct A { int n; "
        "__device__ A(const A& o) { n = o.n + 1; } "
        "__device__ A() {} "
        "};\n"
        "__global__ void k(int* x, int n) { A a; A b = a; x[0] = b.n; }",
        "unsupported: copy constructors of your own",
    ),
    (
        "struct A { int n; "
        "__device__ ~A() { n = 1; } "
        "};\n"
        "__global__ void k(int* x, int n) { A a; }",
        "unsupported: destructors",
    ),
    (
        "struct A { int n; friend struct B; };\n"
        "__global__ void k(int* x, int n) { A a; }",
        "unsupported: friends of a class",
    ),
    (
        "struct A { int n; A() = delete; };\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: methods that are = delete",
    ),
    (
        "template <class T> struct A { T v; }; template <class T> struct A<T*> { T v; };\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: templates of structs that are written for some arguments only",
    ),
    (
        "template <class... T> struct A { int n; };\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: templates with a variable number of parameters",
    ),
    (
        "__device__ int f(int a) { return a; } "
        "__device__ int (*table[2])(int) = {f, f};\n"
        "__global__ void k(int* x, int n) { x[0] = table[0](1); }",
        "unsupported: pointers to functions that are stored",
    ),
    (
        "__device__ int f(int a) { return a; } "
        "__device__ int g(int a) { return a; }\n"
        "__global__ void k(int* x, int n) { auto h = f; h = g; x[0] = h(1); }",
        "unsupported: a pointer to a function that changes",
    ),
    (
        "__device__ int f(int a) { return a; } "
        "__device__ int g(int a) { return a; }\n"
        "__global__ void k(int* x, int n) { int (*h)(int) = n ? f : g; x[0] = h(1); }",
        "unsupported: a choice between functions",
    ),
    (
        "struct S { static int n; };\n"
        "__global__ void k(int* x, int n) {  }",
        "unsupported: static members other than numbers that are known when compiling",
    ),
    (
        "@__global__ void k(int* x, int n) { int P::* m = &P::a; P p{1, 2}; x[0] = p.*m; }",
        "unsupported: a member of a class or namespace that is defined outside of it",
    ),
    (
        "@__global__ void k(int* x, int n) { P p = {.a = 1, .b = 2}; x[0] = p.a; }",
        "unsupported: designated initializers",
    ),
    (
        "__global__ void k(int* x, int n) { int a = n; auto f = [](int k) { return a + k; }; x[0] = f(1); }",
        "'a' is a variable of the function around, which cannot be referenced here",
    ),
    (
        "__global__ void k(int* x, int n) { int a = n; auto f = [=](int k) { a += k; return a; }; "
        "x[0] = f(1); }",
        "expression must be a modifiable lvalue",
    ),
    (
        "__global__ void k(int* x, int n) { auto f = [b](int k) { return k; }; x[0] = f(1); }",
        "'b' is no variable of the function around",
    ),
    (
        "__global__ void k(int* x) { auto f = [](int k) { if (k) return 1; return 2.5f; }; x[0] = f(1); }",
        "deduced return type 'float' conflicts with previously deduced type 'int'",
    ),
    (
        "__global__ void k(int* x) { int (*f)(int) = [](int k) { return k; }; }",
        "unsupported: a pointer to a lambda",
    ),
    (
        "__global__ void k(int* x, int n) { struct L { __device__ int f() { return n; } }; }",
        "cannot be referenced here",
    ),
]  # fmt: skip
